package etcdstore

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/ringuid/ringuid/internal/testkit"
	"github.com/ringuid/ringuid/internal/testkit/etcdtest"
	"github.com/ringuid/ringuid/internal/testkit/takertest"
	"github.com/ringuid/ringuid/internal/testkit/uniq"
	"github.com/ringuid/ringuid/segment"
)

// onTxn returns a client that calls f for each transaction. write says whether it writes, and send sends it.
func onTxn(t *testing.T, f func(ctx context.Context, write bool, txn *etcdserverpb.TxnRequest, send func() error) error, endpoints ...string) *clientv3.Client {
	t.Helper()
	call := func(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
		send := func() error { return invoke(ctx, method, req, reply, cc, opts...) }
		if txn, ok := req.(*etcdserverpb.TxnRequest); ok {
			return f(ctx, len(txn.Compare) > 0, txn, send)
		}
		return send()
	}
	client, err := clientv3.New(clientv3.Config{Endpoints: endpoints, DialTimeout: 5 * time.Second, Logger: zap.NewNop(),
		DialOptions: []grpc.DialOption{grpc.WithChainUnaryInterceptor(call)}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	return client
}

// losingReplies returns a client that loses the reply to the next write that was made once lose is set: the caller gets a code instead.
func losingReplies(t *testing.T, code codes.Code) (client *clientv3.Client, lose *atomic.Bool) {
	lose = new(atomic.Bool)
	return onTxn(t, func(_ context.Context, write bool, _ *etcdserverpb.TxnRequest, send func() error) error {
		if err := send(); err != nil || !write || !lose.Swap(false) {
			return err
		}
		return status.Error(code, "the reply was lost")
	}, etcdtest.Endpoints(t)...), lose
}

// newPrefix returns an option with a prefix that no other test uses.
func newPrefix() Option { return WithPrefix(fmt.Sprintf("test-tags-%d/", time.Now().UnixNano())) }

// In one process the calls of a tag do not compete: each is one read and one write. No number is lost or taken twice.
func TestTagQueue(t *testing.T) {
	var txns atomic.Int64
	s := New(onTxn(t, func(_ context.Context, _ bool, _ *etcdserverpb.TxnRequest, send func() error) error {
		txns.Add(1)
		return send()
	}, etcdtest.Endpoints(t)...), newPrefix())
	takertest.Create(t, s)
	takertest.Take(t, s, segment.Request{Tag: takertest.Tag, Size: 1})
	txns.Store(0)
	const goroutines, takes = 10, 20
	var set uniq.Set
	var wg sync.WaitGroup
	for range goroutines {
		wg.Go(func() {
			w := set.Writer()
			for range takes {
				r, err := s.Take(t.Context(), segment.Request{Tag: takertest.Tag, Size: 1})
				if err != nil || r.Length != 1 || !w.Add(r.First) {
					t.Errorf("%+v, %v", r, err)
				}
			}
		})
	}
	wg.Wait()
	next := takertest.Take(t, s, segment.Request{Tag: takertest.Tag})
	if n := set.Len(); n != goroutines*takes || next.First != n+2 {
		t.Errorf("%d numbers were taken, and the next one is %d; want %d and %d", n, next.First, goroutines*takes, goroutines*takes+2)
	}
	if n := txns.Load() - 2; n != 2*goroutines*takes {
		t.Errorf("%d Takes made %d transactions; want 2 for each", goroutines*takes, n)
	}
}

// A tag whose call does not return delays calls of the same tag as long as their contexts allow, and no other tag.
func TestTagBlocked(t *testing.T) {
	blocked, release := make(chan struct{}), make(chan struct{})
	var once sync.Once
	s := New(onTxn(t, func(_ context.Context, write bool, txn *etcdserverpb.TxnRequest, send func() error) error {
		if write && strings.Contains(txn.String(), "tags/blocked") {
			once.Do(func() {
				close(blocked)
				<-release
			})
		}
		return send()
	}, etcdtest.Endpoints(t)...), newPrefix())
	other := New(dial(t, s.client.Endpoints()...), WithPrefix(s.prefix))
	for _, tag := range []string{"blocked", "free"} {
		if err := other.CreateTag(t.Context(), tag, segment.TagConfig{}); err != nil {
			t.Fatal(err)
		}
	}
	done := make(chan error, 1)
	go func() {
		_, err := s.Take(testkit.Patient(t), segment.Request{Tag: "blocked"})
		done <- err
	}()
	select {
	case <-blocked:
	case err := <-done:
		t.Fatal(err)
	}
	for range 10 {
		takertest.Take(t, s, segment.Request{Tag: "free"})
		takertest.Take(t, other, segment.Request{Tag: "blocked"})
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if r, err := s.Take(ctx, segment.Request{Tag: "blocked"}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a second Take of the blocked tag: %+v, %v; want that its context has ended", r, err)
	}
	close(release)
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// A record that is wrong is an error that names the key, and remains as it is.
func TestTagDamagedRecord(t *testing.T) {
	client := dial(t, etcdtest.Endpoints(t)...)
	s := New(client, newPrefix())
	takertest.Create(t, s)
	takertest.Take(t, s, segment.Request{Tag: takertest.Tag})
	for key, texts := range map[string][]string{
		s.tagKey(takertest.Tag): {"", "{", "5", `{"tag":"orders","next":0,"step":1,"history":"h"}`, `{"tag":"invoices","next":5,"step":1,"history":"h"}`,
			`{"tag":"orders","next":5,"step":0,"history":"h"}`, `{"tag":"orders","next":9223372036854775808,"step":1,"history":"h"}`},
		s.tagPoolKey(): {"", "{", `{"history":""}`},
	} {
		before, err := client.Get(t.Context(), key)
		if err != nil || len(before.Kvs) != 1 {
			t.Fatal(before, err)
		}
		for _, text := range texts {
			if _, err := client.Put(t.Context(), key, text); err != nil {
				t.Fatal(err)
			}
			r, err := s.Take(t.Context(), segment.Request{Tag: takertest.Tag})
			err2 := s.CreateTag(t.Context(), takertest.Tag, segment.TagConfig{})
			for _, err := range []error{err, err2} {
				if !errors.Is(err, segment.ErrSource) || !strings.Contains(err.Error(), key) {
					t.Errorf("%s = %q: %+v, %v; want ErrSource, and the key", key, text, r, err)
				}
			}
			if after, err := client.Get(t.Context(), key); err != nil || string(after.Kvs[0].Value) != text {
				t.Errorf("%s = %q was replaced by %v, %v", key, text, after, err)
			}
		}
		if _, err := client.Put(t.Context(), key, string(before.Kvs[0].Value)); err != nil {
			t.Fatal(err)
		}
	}
	if r := takertest.Take(t, s, segment.Request{Tag: takertest.Tag}); r.First != 21 {
		t.Errorf("after the records were restored, the range is %+v; want 21 as its first number", r)
	}
}

// A pool of tags that was deleted is created again by the next Take, as one that may have lost tags.
func TestTagPoolDeleted(t *testing.T) {
	client := dial(t, etcdtest.Endpoints(t)...)
	for _, how := range []string{"Take", "CreateTag"} {
		s := New(client, newPrefix())
		takertest.Create(t, s)
		if _, err := client.Delete(t.Context(), s.tagPoolKey()); err != nil {
			t.Fatal(err)
		}
		if how == "Take" {
			takertest.Take(t, s, segment.Request{Tag: takertest.Tag})
		} else if err := s.CreateTag(t.Context(), "new", segment.TagConfig{}); err != nil {
			t.Fatal(err)
		}
		if err := s.CreateTag(t.Context(), "day", segment.TagConfig{UnusedBefore: time.Now().Add(-time.Hour)}); err != nil {
			t.Fatal(err)
		}
		if r := takertest.Take(t, s, segment.Request{Tag: "day"}); r.First != 1_000_001 {
			t.Errorf("%s: a tag that was created by itself begins at %d; want 1,000,001", how, r.First)
		}
	}
}

// NewHistory records the time at once: tags that cannot have existed then do not begin with a gap.
func TestTagNewHistory(t *testing.T) {
	s := New(dial(t, etcdtest.Endpoints(t)...), newPrefix())
	takertest.Create(t, s)
	begin := time.Now()
	if err := s.NewHistory(t.Context()); err != nil {
		t.Fatal(err)
	}
	end := time.Now()
	state, ok, err := s.readTag(t.Context(), takertest.Tag)
	if err != nil || !ok || state.Pool.History != state.History || state.Tag.History == state.History ||
		state.Pool.Since.Before(begin) || state.Pool.Since.After(end.Add(time.Millisecond)) {
		t.Errorf("after NewHistory, the state is %+v, %v, %v; want the new history in the pool, and a time from %v to %v", state, ok, err, begin, end)
	}
	if r := takertest.Take(t, s, segment.Request{Tag: takertest.Tag}); r.First != 1_000_001 {
		t.Errorf("%+v; want 1,000,001 as its first number", r)
	}
	// A tag that was not used meanwhile skips the gaps of all changes.
	for range 2 {
		if err := s.NewHistory(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if r := takertest.Take(t, s, segment.Request{Tag: takertest.Tag}); r.First != 3_000_021 {
		t.Errorf("%+v; want 3,000,021 as its first number", r)
	}
}

// Invalid options are errors of all methods.
func TestTagOptions(t *testing.T) {
	client := new(clientv3.Client)
	for want, s := range map[string]*Store{
		"client is nil":                             New(nil),
		"option is nil":                             New(client, nil),
		`prefix is ""`:                              New(client, WithPrefix("")),
		"gap after a failover is 0":                 New(client, WithFailoverGap(0)),
		"gap after a failover is -1":                New(client, WithFailoverGap(-1)),
		"must be 1 to 1099511627776":                New(client, WithFailoverGap(segment.MaxStep+1)),
		"etcdstore: the prefix is \"a\"; must be a": New(client, WithPrefix("a"), WithFailoverGap(0)), // the first one
	} {
		_, err := s.Take(t.Context(), segment.Request{Tag: "a"})
		for _, err := range []error{err, s.CreateTag(t.Context(), "a", segment.TagConfig{})} {
			if !errors.Is(err, segment.ErrOption) || !strings.Contains(err.Error(), want) {
				t.Errorf("%v; want segment.ErrOption with %q", err, want)
			}
		}
	}
}
