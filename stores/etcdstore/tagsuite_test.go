package etcdstore

import (
	"testing"

	"google.golang.org/grpc/codes"

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
	client, lose := losingReplies(t, codes.Unavailable)
	prefix := newPrefix()
	takertest.LostReplies(t, func() { lose.Store(true) }, New(client, prefix), New(dial(t, client.Endpoints()...), prefix))
}
