package etcdstore

import (
	"context"
	"fmt"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"

	"github.com/ringuid/ringuid/internal/testkit/etcdtest"
	"github.com/ringuid/ringuid/internal/testkit/slottest"
	"github.com/ringuid/ringuid/workerassign/recycled"
)

// The clock that Read returns is not earlier than the history that it returns, although the request took long: a floor
// is computed from it.
func TestClockAfterHistory(t *testing.T) {
	endpoints := etcdtest.Endpoints(t)
	prefix := fmt.Sprintf("test-clock-%d/", time.Now().UnixNano())
	operator := New(dial(t, endpoints...), WithPrefix(prefix))
	before := slottest.Read(t, operator, recycled.Query{}).History
	var changed time.Time // when the history was changed, while the request was on its way
	delay := func(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
		if method == "/etcdserverpb.KV/Txn" && changed.IsZero() {
			time.Sleep(100 * time.Millisecond)
			changed = time.Now()
			if err := operator.NewHistory(ctx); err != nil {
				t.Error(err)
			}
		}
		return invoke(ctx, method, req, reply, cc, opts...)
	}
	client, err := clientv3.New(clientv3.Config{Endpoints: endpoints, DialTimeout: 5 * time.Second, Logger: zap.NewNop(),
		DialOptions: []grpc.DialOption{grpc.WithChainUnaryInterceptor(delay)}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	s := slottest.Read(t, New(client, WithPrefix(prefix)), recycled.Query{})
	if s.History == before || changed.IsZero() {
		t.Fatalf("the history is %q, which was not changed; the test does not bite", s.History)
	}
	if s.Now.Before(changed.Truncate(time.Millisecond)) {
		t.Errorf("the clock is %v earlier than the history", changed.Sub(s.Now))
	}
}
