package redisstore_test

import (
	"context"
	"errors"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/ringuid/ringuid/internal/testkit"
	"github.com/ringuid/ringuid/internal/testkit/redistest"
	"github.com/ringuid/ringuid/internal/testkit/takertest"
	"github.com/ringuid/ringuid/segment"
	"github.com/ringuid/ringuid/stores/redisstore"
)

// Several processes with several goroutines take all numbers, and none twice.
func TestTagProcesses(t *testing.T) {
	takertest.TestProcesses(t, func() (string, segment.Creator) {
		server := redistest.Start(t)
		return server.Address(), redisstore.New(connect(t, server.Address()))
	}, func(address string) segment.Source { return redisstore.New(connect(t, address)) })
}

// A reply that is lost leaves a gap of exactly one range: the command is sent once, also by a client with many
// retries, and is never taken for one that was not executed. A request that is lost changes nothing. One that
// arrives late leaves a gap.
func TestTagLostReplies(t *testing.T) {
	p := newProxy(t, redistest.Start(t).Address())
	c := goredis.NewClient(&goredis.Options{Addr: p.Address(), MaxRetries: 10, MinRetryBackoff: -1, MaxRetryBackoff: -1, ReadTimeout: time.Minute})
	t.Cleanup(func() { c.Close() })
	s := redisstore.New(c)
	createTag(t, s, "x", segment.TagConfig{Step: 10})
	next := int64(1)
	want := func() {
		t.Helper()
		wantTake(t, s, segment.Request{Tag: "x", AtLeast: next}, segment.Range{First: next, Length: 10, Step: 10})
		next += 10
	}
	fail := func(ctx context.Context) {
		if r, err := s.Take(ctx, segment.Request{Tag: "x"}); err == nil {
			t.Errorf("Take() = %+v, want an error", r)
		}
	}
	want()
	for range 10 {
		p.LoseReplies(t, func() { fail(t.Context()) })
		next += 10
		want()
		p.LoseRequests(t, func() { fail(t.Context()) })
		want()
		deliver := p.DelayRequests(t, func() {
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan struct{})
			go func() {
				defer close(done)
				fail(ctx)
			}()
			testkit.Eventually(t, "the request is delayed", p.Delayed)
			cancel()
			<-done
		})
		want()
		deliver()
		next += 10
		want()
	}
	p.LoseReplies(t, func() {
		if err := s.CreateTag(t.Context(), "y", segment.TagConfig{}); err == nil || errors.Is(err, segment.ErrTagExists) {
			t.Errorf("CreateTag() = %v, want the error of a lost reply", err)
		}
	})
	if err := s.CreateTag(t.Context(), "y", segment.TagConfig{Start: 5}); !errors.Is(err, segment.ErrTagExists) {
		t.Errorf("CreateTag() = %v, want ErrTagExists", err)
	}
	wantTake(t, s, segment.Request{Tag: "y", Size: 1}, segment.Range{First: 1, Length: 1, Step: 1000})
}
