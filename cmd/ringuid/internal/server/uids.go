package server

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ringuid/ringuid/uid"
)

// A selection is how many numbers a request asks for, and how.
type selection struct {
	n        int // 0: one, not in a list
	asNumber bool
	hasAs    bool
}

// selection reads the parameters n and as. ok is false if the call was answered, because one is wrong.
func (c *call) selection() (sel selection, ok bool) {
	if c.r.URL.RawQuery == "" {
		return selection{}, true
	}
	if text, found := strings.CutPrefix(c.r.URL.RawQuery, "n="); found && !strings.ContainsAny(text, "&;%+=") {
		ok = c.count(text, &sel) // without the maps of a query
		return sel, ok
	}
	query, err := url.ParseQuery(c.r.URL.RawQuery)
	if err != nil {
		c.fail(http.StatusBadRequest, "the query of the URL is malformed", nil)
		return selection{}, false
	}
	for name := range query {
		if name != "n" && name != "as" {
			c.fail(http.StatusBadRequest, fmt.Sprintf("there is no parameter %.40q; the parameters are n and as", name), nil)
			return selection{}, false
		}
	}
	sel.hasAs = query.Has("as")
	as, ok := c.param(query, "as")
	if !ok {
		return selection{}, false
	}
	switch as {
	case "", "string":
	case "number":
		sel.asNumber = true
	default:
		c.fail(http.StatusBadRequest, fmt.Sprintf("the parameter as is %.40q; must be string or number", as), nil)
		return selection{}, false
	}
	text, ok := c.param(query, "n")
	if !ok || len(query["n"]) == 0 {
		return sel, ok
	}
	ok = c.count(text, &sel)
	return sel, ok
}

// count reads the parameter n. It returns false if the call was answered, because it is wrong.
func (c *call) count(text string, sel *selection) bool {
	var err error
	// Without the sign and the leading zeros that Atoi accepts.
	sel.n, err = strconv.Atoi(text)
	if err != nil || sel.n < 1 || sel.n > c.s.cfg.MaxBatch || text[0] == '+' || text[0] == '0' {
		c.fail(http.StatusBadRequest, fmt.Sprintf("the parameter n is %.40q; must be 1 to %d", text, c.s.cfg.MaxBatch), nil)
		return false
	}
	return true
}

// takeUIDs answers with one UID, or with a list. If only some UIDs of a list are generated, those are lost: a gap, which is always
// allowed.
func (c *call) takeUIDs() {
	c.take(func() (int64, error) {
		id, err := c.takeUID()
		return int64(id), err
	}, c.takeBatch, c.failUID)
}

// take answers with one number, or with a list, to which fill adds n numbers.
func (c *call) take(one func() (int64, error), fill func(b *batch, n int) error, fail func(error)) {
	sel, ok := c.selection()
	n := max(sel.n, 1)
	if !ok || !c.mayTake(n) {
		return
	}
	taken, ok := c.reserve(c.s.lists, sel.n*elementSize, sel.n*listMemory)
	if !ok {
		c.giveBack(n)
		return
	}
	defer c.release(c.s.lists, taken)
	b := c.s.batches.get()
	defer c.s.batches.put(b)
	var v int64
	var err error
	if sel.n > 0 {
		err = fill(b, sel.n)
	} else {
		v, err = one()
	}
	if err != nil {
		for _, r := range b.runs { // these are lost
			n -= int(r.n)
		}
		c.giveBack(n)
		fail(err)
		return
	}
	if sel.n > 0 {
		c.send(http.StatusOK, c.s.values.json, b.list(sel.asNumber))
		return
	}
	b.out = append(b.out, `{"id":`...)
	b.out = appendNumber(b.out, v, sel.asNumber)
	b.out = append(b.out, "}\n"...)
	c.send(http.StatusOK, c.s.values.json, b.out)
}

// longList is the number of UIDs beyond which a list is taken in parts of that size.
const longList = 256

// maxLongLists is how many long lists take UIDs at the same time.
const maxLongLists = 4

// takeBatch adds n UIDs to an answer. When requests want more UIDs than the generator has, each time unit brings a few thousand. So
// a long list waits before each of its parts while shorter requests wait.
func (c *call) takeBatch(b *batch, n int) error {
	s := c.s
	if n <= longList {
		s.short.Add(1)
		defer s.short.Add(-1)
		return c.takePart(b, n)
	}
	if err := c.acquire(s.long, 1); err != nil {
		return err
	}
	defer s.long.Release(1)
	for ; n > 0; n -= longList {
		if err := c.awaitShort(); err != nil {
			return err
		}
		if err := c.takePart(b, min(n, longList)); err != nil {
			return err
		}
	}
	return nil
}

// awaitShort waits while requests for few UIDs wait.
func (c *call) awaitShort() error {
	for c.s.short.Load() > 0 {
		select {
		case <-time.After(time.Millisecond):
		case <-c.limit.Done():
			return c.limit.Err()
		}
	}
	return nil
}

// takePart adds n UIDs to an answer.
func (c *call) takePart(b *batch, n int) error {
	blocks, ok := c.s.opts.UIDs.(blockGenerator)
	if !ok {
		b.ids = slices.Grow(b.ids[:0], n)[:n]
		clear(b.ids) // so that a generator that fills in fewer is noticed
		if _, err := c.s.opts.UIDs.NextNContext(&c.limit, b.ids); err != nil {
			return err
		}
		return b.addIDs(b.ids)
	}
	// Blocks of consecutive UIDs, without an array of them.
	for n > 0 {
		first, got, err := c.claimBlock(blocks, n)
		if err != nil {
			return err
		}
		if err := b.add(int64(first), int64(got)); err != nil {
			return err
		}
		n -= got
	}
	return nil
}

// A blockGenerator has blocks of consecutive UIDs.
type blockGenerator interface {
	Claim(ctx context.Context, n int) (uid.Block, error)
}

// claimBlock returns up to n consecutive UIDs, and at least one.
func (c *call) claimBlock(g blockGenerator, n int) (first uid.ID, count int, err error) {
	for {
		block, err := g.Claim(&c.limit, n)
		if err != nil {
			return 0, 0, err
		}
		if first, count = block.TakeAll(); count > n {
			return 0, 0, errRange
		} else if count > 0 {
			return first, count, nil
		}
		if err := c.limit.Err(); err != nil { // scheduled padding has ended the block before it was taken
			return 0, 0, err
		}
	}
}

// errNotPositive is the error of a number that no generator returns. It is never handed out: a client could store it as an
// ID that is not set.
var errNotPositive = errors.New("server: bug: the generator has returned a number that is not positive")

// errRange is the error of a range that no generator and no source returns. A list that is longer than was asked for would
// disturb clients, and one of any length would use up the memory.
var errRange = errors.New("server: bug: a range of numbers has none, or more than were requested")

// takeUID returns one UID.
func (c *call) takeUID() (uid.ID, error) {
	c.s.short.Add(1)
	defer c.s.short.Add(-1)
	id, err := c.s.opts.UIDs.NextContext(&c.limit)
	if err == nil && id <= 0 {
		return 0, errNotPositive
	}
	return id, err
}

// failUID answers a request that got no UID.
func (c *call) failUID(err error) { c.fail(http.StatusServiceUnavailable, uidProblem(err), err) }

// uidProblem returns what the client is told about an error of the generator. The error itself may have addresses of
// servers, which only operators see.
func uidProblem(err error) string {
	switch {
	case errors.Is(err, uid.ErrTimeExhausted):
		return "the time bits of the layout are exhausted: there are no more UIDs of this format"
	case errors.Is(err, uid.ErrClosed):
		return "the server is shutting down"
	case isTimeout(err):
		return "no UID was available in time; try again later"
	}
	return "no UID is available; try again later"
}
