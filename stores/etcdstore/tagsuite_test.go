package etcdstore

import (
	"context"
	"sync/atomic"
	"testing"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/ringuid/ringuid/internal/testkit"
	"github.com/ringuid/ringuid/internal/testkit/etcdtest"
	"github.com/ringuid/ringuid/internal/testkit/takertest"
	"github.com/ringuid/ringuid/segment"
)

// Several processes with several goroutines take all numbers, and none twice.
func TestTagProcesses(t *testing.T) {
	testkit.Full(t, "processes take numbers of MariaDB, Redis and files in each run")
	takertest.TestProcesses(t, func() (string, segment.Creator) {
		s := etcdtest.Start(t)
		return s.Endpoint(), New(dial(t, s.Endpoint()))
	}, func(endpoint string) segment.Source { return New(dial(t, endpoint)) })
}

// The reply to a write is lost, and not that to the read before it.
func TestTagLostReplies(t *testing.T) {
	var lose atomic.Bool
	client := onTxn(t, func(_ context.Context, write bool, _ *etcdserverpb.TxnRequest, send func() error) error {
		if err := send(); err != nil || !write || !lose.Swap(false) {
			return err
		}
		return status.Error(codes.Unavailable, "the reply was lost")
	}, etcdtest.Endpoints(t)...)
	prefix := newPrefix()
	takertest.LostReplies(t, func() { lose.Store(true) }, New(client, prefix), New(dial(t, client.Endpoints()...), prefix))
}
