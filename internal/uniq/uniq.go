// Package uniq checks that many integers, handed out by many goroutines, are all different:
// exactly, without sampling, at one bit each where they lie close together.
package uniq

import (
	"sync"
	"sync/atomic"
)

const (
	pageBits = 18 // integers a page, as a power of two: 32 KiB of bits
	pageLen  = 1 << pageBits / 64
)

type page [pageLen]atomic.Uint64

// Set is a set of int64s, kept in pages of bits. Its writers may work at the same time.
type Set struct {
	pages sync.Map // int64 (integer >> pageBits) -> *page
}

// Len counts the members. No writer may be at work.
func (s *Set) Len() int64 {
	var n int64
	s.pages.Range(func(_, p any) bool {
		for i := range p.(*page) {
			for w := p.(*page)[i].Load(); w != 0; w &= w - 1 {
				n++
			}
		}
		return true
	})
	return n
}

// Writer returns a writer for one goroutine.
func (s *Set) Writer() *Writer { return &Writer{set: s, number: -1 << 62} }

// Writer adds to a Set. It belongs to one goroutine.
type Writer struct {
	set    *Set
	number int64
	page   *page
}

// Add adds v and tells whether it is new.
func (w *Writer) Add(v int64) bool {
	if n := v >> pageBits; n != w.number {
		p, ok := w.set.pages.Load(n)
		if !ok {
			p, _ = w.set.pages.LoadOrStore(n, new(page))
		}
		w.number, w.page = n, p.(*page)
	}
	bit := uint64(1) << (v & 63)
	return w.page[(v>>6)&(pageLen-1)].Or(bit)&bit == 0
}
