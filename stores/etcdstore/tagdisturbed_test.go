package etcdstore

import (
	"context"
	"math"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/ringuid/ringuid/internal/testkit/etcdtest"
	"github.com/ringuid/ringuid/internal/testkit/takertest"
)

// The history is compacted, the database is defragmented, and it is full until an operator makes room, while ranges are taken. No
// number is taken twice, and afterwards Takes succeed again.
func TestTagDisturbedServer(t *testing.T) {
	t.Parallel()
	s := etcdtest.Start(t, "--quota-backend-bytes=3000000")
	takertest.Create(t, New(dial(t, s.Endpoint())))
	k := takertest.New(t)
	for n := range 4 {
		k.Run(New(dial(t, s.Endpoint())), n%2 == 0, 2*time.Second)
	}
	k.Wait(10)
	client := dial(t, s.Endpoint())
	compact := func() {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		got, err := client.Get(ctx, "x")
		must(t, err)
		_, err = client.Compact(ctx, got.Header.Revision)
		must(t, err)
		k.Wait(10)
		_, err = client.Defragment(ctx, s.Endpoint())
		must(t, err)
	}
	for range 3 {
		compact()
		k.Wait(10)
	}
	var err error
	began := time.Now()
	for n := range math.MaxInt32 { // until the database is full
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		_, err = client.Put(ctx, "filler", strings.Repeat("x", 200_000))
		cancel()
		if err != nil && strings.Contains(err.Error(), "database space exceeded") || n == 1000 || time.Since(began) > 5*time.Minute { // a slow disk has others
			break
		}
	}
	if err == nil || !strings.Contains(err.Error(), "database space exceeded") {
		t.Fatalf("Put() = %v; want that the database is full", err)
	}
	k.WaitFailures(8)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	got, err := client.Get(ctx, "filler")
	must(t, err)
	_, err = client.Compact(ctx, got.Header.Revision)
	must(t, err)
	_, err = client.Defragment(ctx, s.Endpoint())
	must(t, err)
	_, err = client.AlarmDisarm(ctx, &clientv3.AlarmMember{})
	must(t, err)
	k.Wait(10)
	k.Check()
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
