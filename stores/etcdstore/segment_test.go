package etcdstore

import (
	"fmt"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/ringuid/ringuid/internal/tagrecord"
	"github.com/ringuid/ringuid/internal/testkit"
	"github.com/ringuid/ringuid/internal/testkit/etcdtest"
	"github.com/ringuid/ringuid/segment"
	"github.com/ringuid/ringuid/segment/segmenttest"
)

// setCounter sets the next number of a tag by hand.
func setCounter(tb testing.TB, client *clientv3.Client, s *Store, tag string, next int64) {
	tb.Helper()
	for {
		resp, err := client.Get(tb.Context(), s.tagKey(tag))
		if err != nil || len(resp.Kvs) != 1 {
			tb.Fatal(resp, err)
		}
		r, err := tagrecord.DecodeRecord(resp.Kvs[0].Value, tag)
		if err != nil {
			tb.Fatal(err)
		}
		r.Next = next
		done, err := client.Txn(tb.Context()).If(s.hasValue(s.tagKey(tag), string(resp.Kvs[0].Value))).
			Then(clientv3.OpPut(s.tagKey(tag), string(r.Encode()))).Commit()
		if err != nil {
			tb.Fatal(err)
		}
		if done.Succeeded {
			return
		}
	}
}

// tagFaults returns faults of a server, except those of a proxy. The functions use the store of prefix, which changes.
func tagFaults(s *etcdtest.Server, prefix *string) segmenttest.Faults {
	restores := 0
	return segmenttest.Faults{
		Kill:   func(testing.TB) { s.Kill() },
		Start:  func(testing.TB) { s.Restart() },
		Pause:  func(testing.TB) { s.Pause() },
		Resume: func(testing.TB) { s.Resume() },
		LoseWrites: func(tb testing.TB, write func()) {
			snapshot := s.Snapshot()
			write()
			restores++
			s.Restore(snapshot, fmt.Sprintf("token-%d", restores))
		},
		LoseWritesUnnoticed: func(tb testing.TB, write func()) {
			client := dial(tb, s.Endpoint())
			tags := New(client, WithPrefix(*prefix)).tagsKey()
			before, err := client.Get(tb.Context(), tags, clientv3.WithPrefix())
			if err != nil {
				tb.Fatal(err)
			}
			write()
			for _, kv := range before.Kvs {
				if _, err := client.Put(tb.Context(), string(kv.Key), string(kv.Value)); err != nil {
					tb.Fatal(err)
				}
			}
		},
		SetCounter: func(tb testing.TB, tag string, next int64) {
			client := dial(tb, s.Endpoint())
			setCounter(tb, client, New(client, WithPrefix(*prefix)), tag, next)
		},
	}
}

// The store fulfils the contract on a cluster of three members, which are killed in turn.
func TestSourceOnCluster(t *testing.T) {
	testkit.Full(t, "TestStore has the suite on one server")
	t.Parallel()
	servers, endpoints := startCluster(t, steadyLeader)
	prefix := ""
	f := tagFaults(servers[1], &prefix)
	kills := 0
	f.Kill = func(testing.TB) { servers[kills%3].Kill() }
	f.Start = func(testing.TB) {
		servers[kills%3].Restart()
		kills++
	}
	f.LoseWrites, f.LoseWritesUnnoticed = nil, nil
	f.Without = map[string]string{}
	for _, name := range []string{"LoseReplies", "LoseWrites", "LoseWritesUnnoticed"} {
		f.Without[name] = "TestStore has it, on one server"
	}
	segmenttest.Run(t, segmenttest.Harness{
		New: func(tb testing.TB, name string) segment.Creator {
			prefix = "tests/" + name + "/"
			return New(dial(tb, endpoints...), WithPrefix(prefix))
		},
		Faults: f,
	})
}
