package server

import (
	"context"
	"math"
	"testing"
	"time"

	"github.com/ringuid/ringuid/segment"
	"github.com/ringuid/ringuid/uid"
)

// A source of tags that returns more numbers than were requested, none, or such that do not exist, gets an error for its client:
// never a list that is longer than was asked for, and no memory for numbers that nobody asked for.
func TestRangesThatCannotBe(t *testing.T) {
	var r segment.Range
	q := &fakeSequences{claim: func(context.Context, string, int64) (segment.Range, error) { return r, nil }}
	s := start(t, testConfig(), Options{Sequences: q})
	for _, r = range []segment.Range{
		{First: 5, Length: 4}, {First: 5, Length: 4, Stride: 2}, {First: 1, Length: math.MaxInt64}, {First: 1, Length: math.MaxInt64, Stride: 7},
		{First: 5, Length: 0}, {First: 5, Length: -1}, {First: 0, Length: 3}, {First: -5, Length: 3, Stride: 4}, {First: math.MinInt64, Length: 3},
		{First: math.MaxInt64 - 1, Length: 3}, {First: math.MaxInt64 - 1, Length: 3, Stride: 2}, {First: 1, Length: 3, Stride: math.MaxInt64}, {First: 9, Length: 3, Stride: -1},
	} {
		if a := s.get("/v1/segment/a?n=3"); a.status != 503 {
			t.Errorf("%+v: %+v", r, a)
		}
	}
	r = segment.Range{First: math.MaxInt64 - 5, Length: 3, Stride: 2}
	check(t, "the last numbers", s.get("/v1/segment/a?n=3"), 200, `{"ids":["9223372036854775802","9223372036854775804","9223372036854775806"]}`+"\n")
}

// A claimingGenerator is a generator whose blocks a test decides.
type claimingGenerator struct {
	*uid.Cached
	claim func(ctx context.Context, n int) (uid.Block, error)
}

func (g *claimingGenerator) Claim(ctx context.Context, n int) (uid.Block, error) {
	return g.claim(ctx, n)
}

// Blocks that padding ends before they are taken do not keep a request beyond its time limit, and a block that is longer than was requested
// is an error.
func TestBlocksThatCannotBe(t *testing.T) {
	cfg := testConfig()
	cfg.RequestTimeout = 50 * time.Millisecond
	g := &claimingGenerator{Cached: newGenerator(t)}
	s := start(t, cfg, Options{UIDs: g})
	g.claim = func(context.Context, int) (uid.Block, error) { return uid.Block{}, nil }
	isProblem(t, "blocks without UIDs", s.get("/v1/uid?n=3"), 503, "in time")
	isProblem(t, "a block without UIDs", s.do("POST", "/v1/block?n=3", ""), 503, "in time")
	s = start(t, testConfig(), Options{UIDs: g})
	g.claim = func(ctx context.Context, n int) (uid.Block, error) { return g.Cached.Claim(ctx, n+1) }
	isProblem(t, "a block that is too long", s.get("/v1/uid?n=3"), 503, "no UID is available")
	isProblem(t, "a block that is too long", s.do("POST", "/v1/block?n=3", ""), 503, "no UID is available")
	// One UID at a time, and blocks that have ended between them.
	calls := 0
	g.claim = func(ctx context.Context, n int) (uid.Block, error) {
		if calls++; calls%2 == 0 {
			return uid.Block{}, nil
		}
		return g.Cached.Claim(ctx, 1)
	}
	if a := s.get("/v1/uid?n=3"); a.status != 200 || calls != 5 {
		t.Errorf("%d calls: %+v", calls, a)
	}
}

// fewGenerator is a generator without blocks, which fills in only some UIDs.
type fewGenerator struct {
	fakeGenerator
	fills int
}

func (g *fewGenerator) NextNContext(_ context.Context, dst []uid.ID) (int, error) {
	n := min(g.fills, len(dst))
	for i := range n {
		dst[i] = uid.ID(100 + i)
	}
	return n, nil
}

// If a generator fills in fewer UIDs than it says, the others are not those of an earlier request.
func TestFewerUIDs(t *testing.T) {
	g := &fewGenerator{fakeGenerator: fakeGenerator{Generator: newGenerator(t)}}
	s := start(t, testConfig(), Options{UIDs: g})
	for range 20 { // the pool does not always return the memory of the request before
		g.fills = 5
		if a := s.get("/v1/uid?n=5"); a.status != 200 {
			t.Fatalf("%+v", a)
		}
		g.fills = 4
		isProblem(t, "a UID is missing", s.get("/v1/uid?n=5"), 503, "no UID is available")
	}
}

// The context of a request has ended at its deadline, also for those who only ask.
func TestRequestContextErr(t *testing.T) {
	c := &requestContext{Context: t.Context(), deadline: time.Now().Add(time.Hour)}
	if err := c.Err(); err != nil {
		t.Errorf("before the deadline: %v", err)
	}
	c = &requestContext{Context: t.Context(), deadline: time.Now().Add(-time.Second)}
	if err := c.Err(); err != context.DeadlineExceeded {
		t.Errorf("after the deadline: %v", err)
	}
	select {
	case <-c.Done():
	default:
		t.Error("Done is not closed although Err has said that it is")
	}
	c.end()
	parent, cancel := context.WithCancel(t.Context())
	cancel()
	c = &requestContext{Context: parent, deadline: time.Now().Add(-time.Second)}
	if err := c.Err(); err != context.Canceled {
		t.Errorf("of a client that is gone: %v", err)
	}
}
