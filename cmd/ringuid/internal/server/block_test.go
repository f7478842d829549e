package server

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/ringuid/ringuid/segment"
	"github.com/ringuid/ringuid/uid"
	"github.com/ringuid/ringuid/workerassign"
)

// block is the answer with a block.
type block struct {
	First     int64 `json:",string"`
	Count     int64
	Stride    int64
	ExpiresIn *float64 `json:"expires_in"`
}

// The numbers of blocks are different from one another, and from those of lists and of single requests; there are as many as were asked for, or
// fewer if the time unit ends.
func TestBlocks(t *testing.T) {
	def, err := uid.NewDefault(t.Context(), workerassign.Static(2))
	if err != nil {
		t.Fatal(err)
	}
	defer def.Close()
	for name, g := range map[string]uid.Generator{"Cached": newGenerator(t), "Default": def} {
		t.Run(name, func(t *testing.T) {
			s := start(t, testConfig(), Options{UIDs: g, Sequences: newSequences(t), MaxStaleness: 2500 * time.Millisecond})
			for path, expires := range map[string]float64{"/v1": 2.5, "/v1/segment/orders": 0} {
				seen := map[int64]bool{}
				add := func(first, count int64) {
					for v := first; v < first+count; v++ {
						if seen[v] {
							t.Fatalf("%d came twice", v)
						}
						seen[v] = true
					}
				}
				for range 30 {
					var b block
					decode(t, s.do("POST", path+"/block?n=1000", ""), &b)
					if b.First < 1 || b.Count < 1 || b.Count > 1000 || b.Stride != 0 || (b.ExpiresIn != nil) != (expires > 0) || expires > 0 && *b.ExpiresIn != expires {
						t.Errorf("%s: %+v", path, b)
					}
					add(b.First, b.Count)
					var list struct{ IDs []uid.ID }
					decode(t, s.get(strings.Replace(path+"?n=10", "/v1?", "/v1/uid?", 1)), &list)
					for _, id := range list.IDs {
						add(int64(id), 1)
					}
				}
			}
		})
	}
}

// A block of a source with several stripes has a stride. What is wrong gives no number.
func TestBlockAnswers(t *testing.T) {
	q := &fakeSequences{claim: func(_ context.Context, tag string, n int64) (segment.Range, error) {
		if tag == "none" {
			return segment.Range{}, segment.ErrNoTag
		}
		return segment.Range{First: 7, Length: n, Stride: 3}, nil
	}}
	g := &fakeGenerator{Generator: newGenerator(t)}
	g.next = func(context.Context) (uid.ID, error) { return 0, errors.New("down") }
	s := start(t, testConfig(), Options{UIDs: g, Sequences: q})
	check(t, "a stride", s.do("POST", "/v1/segment/orders/block?n=5", ""), 200, `{"first":"7","count":5,"stride":3}`+"\n")
	isProblem(t, "no tag", s.do("POST", "/v1/segment/none/block?n=5", ""), 404, "there is no tag")
	for _, path := range []string{"/v1/block", "/v1/segment/orders/block"} {
		isProblem(t, "no n", s.do("POST", path, ""), 400, "the parameter n is missing; must be 1 to 10000")
		isProblem(t, "n of 0", s.do("POST", path+"?n=0", ""), 400, "must be 1 to 10000")
		isProblem(t, "GET", s.get(path+"?n=1"), 405, "POST")
	}
	isProblem(t, "as", s.do("POST", "/v1/block?n=5&as=number", ""), 400, "the parameter as is not one of blocks")
	isProblem(t, "no UIDs", s.do("POST", "/v1/block?n=5", ""), 503, "no UID is available")
}

// A source's numbers that do not exist are not handed out.
func TestBlockOfWrongRange(t *testing.T) {
	var r segment.Range
	q := &fakeSequences{claim: func(context.Context, string, int64) (segment.Range, error) { return r, nil }}
	s := start(t, testConfig(), Options{Sequences: q})
	for _, r = range []segment.Range{
		{First: 0, Length: 5}, {First: -3, Length: 5}, {First: 1, Length: 0}, {First: 1, Length: 6}, {First: 1, Length: 5, Stride: -1},
		{First: math.MaxInt64 - 3, Length: 5}, {First: math.MaxInt64 - 11, Length: 5, Stride: 3}, {First: 1, Length: 5, Stride: math.MaxInt64},
	} {
		isProblem(t, "a wrong range", s.do("POST", "/v1/segment/orders/block?n=5", ""), 503, "no number of the tag")
	}
	r = segment.Range{First: math.MaxInt64 - 12, Length: 5, Stride: 3}
	check(t, "the last numbers", s.do("POST", "/v1/segment/orders/block?n=5", ""), 200, fmt.Sprintf(`{"first":"%d","count":5,"stride":3}`+"\n", r.First))
}

// A token pays for the numbers that were used up, not for those that a block lacks.
func TestRateOfBlocks(t *testing.T) {
	one := &fakeSequences{claim: func(context.Context, string, int64) (segment.Range, error) {
		return segment.Range{First: 7, Length: 1}, nil
	}}
	claims := func(n func(int) int) *claimingGenerator {
		g := newGenerator(t)
		return &claimingGenerator{g, func(ctx context.Context, wanted int) (uid.Block, error) { return g.Claim(ctx, n(wanted)) }}
	}
	last := uid.ID(0)
	apart := &fakeGenerator{Generator: newGenerator(t), next: func(context.Context) (uid.ID, error) { last += 2; return last, nil }}
	for name, c := range map[string]struct {
		options Options
		path    string
		cost    int
	}{
		"one number of a tag":      {Options{Sequences: one}, "/v1/segment/orders/block?n=501", 1},
		"one UID":                  {Options{UIDs: claims(func(int) int { return 1 })}, "/v1/block?n=501", 1},
		"all":                      {Options{UIDs: claims(func(n int) int { return n })}, "/v1/block?n=501", 501},
		"one UID, and others lost": {Options{UIDs: apart}, "/v1/block?n=501", longList},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := testConfig()
			cfg.MaxBatch = 1000 // so many at once
			cfg.Tokens = []Token{{Name: "a", Secret: "0123456789abcdef", UIDs: true, Tags: []string{"*"}, Rate: 1}}
			s := start(t, cfg, c.options)
			answered := 0
			for s.do("POST", c.path, "", "Authorization", "Bearer 0123456789abcdef").status == 200 {
				answered++
			}
			// The time that passes adds some.
			if want := 1 + (1000-501)/c.cost; answered < want || answered > want+1+want/4 {
				t.Errorf("%d blocks; want %d", answered, want)
			}
		})
	}
}
