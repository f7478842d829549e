package server

import (
	"sync"

	"github.com/ringuid/ringuid/segment"
	"github.com/ringuid/ringuid/uid"
)

// A batch is the memory of one answer. It is used again.
type batch struct {
	ids  []uid.ID
	runs []run
	out  []byte
}

// maxPooled is the size in bytes beyond which the memory of an answer is not kept.
const maxPooled = 1 << 20

// A batchPool keeps batches.
type batchPool struct{ pool sync.Pool }

// get returns a batch whose slices are empty.
func (p *batchPool) get() *batch {
	if b, ok := p.pool.Get().(*batch); ok {
		b.ids, b.runs, b.out = b.ids[:0], b.runs[:0], b.out[:0]
		return b
	}
	return new(batch)
}

// put keeps a batch.
func (p *batchPool) put(b *batch) {
	if cap(b.out)+16*cap(b.runs)+8*cap(b.ids) <= maxPooled {
		p.pool.Put(b)
	}
}

// A run is the consecutive numbers first, first+1 and so on.
type run struct{ first, n int64 }

// add adds a run to the answer. The error is errNotPositive if it has no number, or one that is not positive.
func (b *batch) add(first, n int64) error {
	if first < 1 || n < 1 || first+(n-1) < first {
		return errNotPositive
	}
	if last := len(b.runs) - 1; last >= 0 && b.runs[last].first+b.runs[last].n == first {
		b.runs[last].n += n
		return nil
	}
	b.runs = append(b.runs, run{first, n})
	return nil
}

// addIDs adds UIDs to the answer.
func (b *batch) addIDs(ids []uid.ID) error {
	for begin := 0; begin < len(ids); {
		end := begin + 1
		for end < len(ids) && ids[end] == ids[end-1]+1 {
			end++
		}
		if err := b.add(int64(ids[begin]), int64(end-begin)); err != nil {
			return err
		}
		begin = end
	}
	return nil
}

// addRange adds numbers of a tag to the answer.
func (b *batch) addRange(r segment.Range) error {
	if r.Stride <= 1 {
		return b.add(r.First, r.Length)
	}
	for i := range r.Length {
		if err := b.add(r.First+i*r.Stride, 1); err != nil {
			return err
		}
	}
	return nil
}

// listMemory is the memory that an element of a list needs, in bytes: its text, and a run of its own.
const listMemory = elementSize + 16

// What an answer with a list has around it.
const (
	listBegin = `{"ids":[`
	listEnd   = "]}\n"
)

// list returns the answer with the numbers of the runs, of which there is at least one. It is valid until the next call.
func (b *batch) list(asNumber bool) []byte {
	b.out = append(b.out, listBegin...)
	for _, r := range b.runs {
		b.out = appendRun(grow(b.out, int(r.n+1)*elementSize), r, asNumber)
	}
	b.out = append(b.out[:len(b.out)-len(",")], listEnd...)
	return b.out
}
