//go:build unix

package redisstore_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/ringuid/ringuid/internal/testkit"
	"github.com/ringuid/ringuid/internal/testkit/redistest"
	"github.com/ringuid/ringuid/internal/testkit/uniq"
	"github.com/ringuid/ringuid/segment"
	"github.com/ringuid/ringuid/stores/redisstore"
)

// stripedTakers take numbers of several sequences on one group of stripes, and compare all of them.
type stripedTakers struct {
	set      uniq.Set
	taken    [3]atomic.Int64 // how many numbers of each stripe
	failures atomic.Int64
	running  sync.WaitGroup
}

// run takes numbers until ctx ends.
func (k *stripedTakers) run(ctx context.Context, t *testing.T, s *segment.Sequence) {
	writer := k.set.Writer()
	for ctx.Err() == nil {
		n, err := s.Next()
		if err != nil {
			k.failures.Add(1)
			t.Logf("Next: %v", err)
			time.Sleep(10 * time.Millisecond)
			continue
		}
		if !writer.Add(n) {
			t.Errorf("the number %d came twice", n)
		}
		k.taken[n%3].Add(1)
		time.Sleep(100 * time.Microsecond)
	}
}

// Three servers that know nothing of each other each have a stripe. While one is down, the others serve, without an error of
// a call. When it is back, all serve. No number comes twice. The group of another number of stripes has no tags.
func TestStripesOfThreeServers(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	var servers []*redistest.Server
	var stripes []*segment.Striped
	for i := range 3 {
		server := redistest.Start(t, "--appendfsync", "always")
		client := goredis.NewClient(&goredis.Options{Addr: server.Address(), DialTimeout: time.Minute,
			ReadTimeout: time.Minute, MaxRetries: -1, ContextTimeoutEnabled: true})
		t.Cleanup(func() { client.Close() })
		servers = append(servers, server)
		stripes = append(stripes, segment.Stripe(i, 3, redisstore.New(client)))
	}
	group := segment.NewGroup(stripes...)
	createTag(t, group, "orders", segment.TagConfig{Step: 50})
	k := new(stripedTakers)
	var sequences []*segment.Sequence
	for range 4 {
		s, err := segment.New(ctx, group, "orders", segment.WithStepPolicy(segment.FixedStep{}), segment.WithCapacity(4), segment.WithMaxWait(time.Minute),
			segment.WithLogger(slog.New(slog.DiscardHandler)))
		if err != nil {
			t.Fatal(err)
		}
		sequences = append(sequences, s)
		for range 2 {
			k.running.Go(func() { k.run(ctx, t, s) })
		}
	}
	t.Cleanup(func() {
		cancel()
		k.running.Wait()
		for _, s := range sequences {
			s.Close()
		}
	})
	wait := func(what string, from ...int) {
		t.Helper()
		var want [3]int64
		for i := range want {
			want[i] = k.taken[i].Load()
		}
		for _, i := range from {
			testkit.Eventually(t, fmt.Sprintf("%s: 200 numbers of stripe %d", what, i), func() bool { return k.taken[i].Load() >= want[i]+200 })
		}
	}
	wait("at the beginning", 0, 1, 2)
	for down := range 3 {
		servers[down].Kill()
		wait("while a server is down", (down+1)%3, (down+2)%3)
		servers[down].Restart()
		wait("when it is back", 0, 1, 2)
	}
	if n := k.failures.Load(); n != 0 {
		t.Errorf("%d calls of Next have failed, want none", n)
	}
	t.Logf("%d numbers, none twice: %d, %d and %d of the three stripes", k.set.Len(), k.taken[0].Load(), k.taken[1].Load(), k.taken[2].Load())

	// Another number of stripes on the same servers, and two servers that were exchanged.
	other := segment.NewGroup(segment.Stripe(0, 2, sourceOf(t, servers[0])), segment.Stripe(1, 2, sourceOf(t, servers[1])))
	if _, err := segment.New(ctx, other, "orders", segment.WithTryTimeout(time.Minute)); !errors.Is(err, segment.ErrNoTag) {
		t.Errorf("a group of two stripes: %v, want ErrNoTag", err)
	}
	exchanged := segment.NewGroup(segment.Stripe(0, 3, sourceOf(t, servers[1])), segment.Stripe(1, 3, sourceOf(t, servers[0])))
	if _, err := segment.New(ctx, exchanged, "orders", segment.WithTryTimeout(time.Minute)); !errors.Is(err, segment.ErrNoTag) {
		t.Errorf("two servers that were exchanged: %v, want ErrNoTag", err)
	}
}

// sourceOf returns a source on a server.
func sourceOf(t *testing.T, s *redistest.Server) segment.Source {
	t.Helper()
	return redisstore.New(connect(t, s.Address()))
}
