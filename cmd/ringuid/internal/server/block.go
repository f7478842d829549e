package server

import (
	"math"
	"net/http"
	"strconv"

	"github.com/ringuid/ringuid/uid"
)

// A block is consecutive numbers that a client uses one after the other, without a request for each:
//
//	{"first":"962392666547429376","count":8192,"expires_in":3}
//
// They are first, first+stride and so on; a stride of 1 is left out. The client must drop what it has not used when expires_in seconds, the
// generator's bound on staleness, have passed since it sent the request. So a UID is at most twice as stale as from the generator itself.
// Numbers of a tag have no end. A block has n numbers or fewer, and is lost if the answer
// does not arrive: the client sends another request.

// blockUIDs answers with a block of UIDs.
func (c *call) blockUIDs() {
	n, ok := c.blockSize()
	if !ok {
		return
	}
	first, count, used, err := c.claimUIDs(n)
	c.giveBack(n - used)
	if err == nil && first < 1 {
		err = errNotPositive
	}
	if err != nil {
		c.failUID(err)
		return
	}
	c.sendBlock(int64(first), int64(count), 1, strconv.FormatFloat(c.s.opts.MaxStaleness.Seconds(), 'f', -1, 64))
}

// blockNumbers answers with a block of numbers of a tag.
func (c *call) blockNumbers() {
	n, ok := c.blockSize()
	if !ok {
		return
	}
	tag := c.r.PathValue("tag")
	r, err := c.claim(tag, int64(n))
	c.giveBack(n - int(r.Length))
	if err == nil && (r.First < 1 || r.Length-1 > (math.MaxInt64-r.First)/max(r.Stride, 1)) {
		err = errNotPositive
	}
	if err != nil {
		c.failNumber(tag, err)
		return
	}
	c.sendBlock(r.First, r.Length, max(r.Stride, 1), "")
}

// blockSize reads the parameter n, which is required and the only one. ok is false if the call was answered.
func (c *call) blockSize() (n int, ok bool) {
	sel, ok := c.selection()
	switch {
	case !ok:
		return 0, false
	case sel.hasAs:
		c.fail(http.StatusBadRequest, "the parameter as is not one of blocks; the parameter is n", nil)
		return 0, false
	case sel.n == 0:
		c.fail(http.StatusBadRequest, "the parameter n is missing; must be 1 to "+strconv.Itoa(c.s.cfg.MaxBatch), nil)
		return 0, false
	}
	return sel.n, c.mayTake(sel.n)
}

// claimUIDs returns up to n consecutive UIDs, and how many were used up for them. It waits as a long list does.
func (c *call) claimUIDs(n int) (first uid.ID, count, used int, err error) {
	if err := c.acquire(c.s.long, 1); err != nil {
		return 0, 0, 0, err
	}
	defer c.s.long.Release(1)
	if err := c.awaitShort(); err != nil {
		return 0, 0, 0, err
	}
	if g, ok := c.s.opts.UIDs.(blockGenerator); ok {
		first, count, err = c.claimBlock(g, n)
		return first, count, count, err
	}
	// Without blocks: those at the end are lost if another time unit begins between them.
	b := c.s.batches.get()
	defer c.s.batches.put(b)
	n = min(n, longList)
	if err := c.takePart(b, n); err != nil {
		return 0, 0, 0, err
	}
	return uid.ID(b.runs[0].first), int(b.runs[0].n), n, nil
}

// sendBlock answers with a block.
func (c *call) sendBlock(first, count, stride int64, expiresIn string) {
	b := c.s.batches.get()
	defer c.s.batches.put(b)
	b.out = strconv.AppendInt(append(b.out, `{"first":"`...), first, 10)
	b.out = strconv.AppendInt(append(b.out, `","count":`...), count, 10)
	if stride != 1 {
		b.out = strconv.AppendInt(append(b.out, `,"stride":`...), stride, 10)
	}
	if expiresIn != "" {
		b.out = append(append(b.out, `,"expires_in":`...), expiresIn...)
	}
	c.send(http.StatusOK, c.s.values.json, append(b.out, "}\n"...))
}
