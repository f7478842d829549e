// Package uniq provides a set of integers, which tests use to check that the UIDs of many goroutines are
// all different. The check is exact, without sampling. If the integers are dense, the set uses about one
// bit for each.
package uniq

import (
	"sync"
	"sync/atomic"
)

const (
	pageBits = 13                 // a page holds 2^13 integers, in 1 KiB
	pageLen  = 1 << pageBits / 64 // the number of words of a page
)

type page [pageLen]atomic.Uint64

// Set is a set of int64 values, stored in pages of bits. Its writers may be used concurrently.
type Set struct {
	pages sync.Map // maps an int64, the value >> pageBits, to its *page
}

// Len returns the number of members. It must not be called concurrently with Add.
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
func (s *Set) Writer() *Writer { return &Writer{set: s, pageNumber: -1 << 62} }

// Writer adds values to a Set. It is for use by one goroutine.
type Writer struct {
	set        *Set
	pageNumber int64 // the number of page; values of that page need no look-up
	page       *page
}

// Add adds v to the set and reports whether it is new.
func (w *Writer) Add(v int64) bool {
	if n := v >> pageBits; n != w.pageNumber {
		p, ok := w.set.pages.Load(n)
		if !ok {
			p, _ = w.set.pages.LoadOrStore(n, new(page))
		}
		w.pageNumber, w.page = n, p.(*page)
	}
	bit := uint64(1) << (v & 63)
	return w.page[(v>>6)&(pageLen-1)].Or(bit)&bit == 0
}
