package server

import (
	"sync"

	"github.com/ringuid/ringuid/uid"
)

// A batch is the memory of one answer. It is used again.
type batch struct {
	ids     []uid.ID
	numbers []int64
	out     []byte
}

// maxPooled is the size in bytes beyond which the memory of an answer is not kept.
const maxPooled = 1 << 20

// A batchPool keeps batches.
type batchPool struct{ pool sync.Pool }

// get returns a batch whose slices are empty.
func (p *batchPool) get() *batch {
	if b, ok := p.pool.Get().(*batch); ok {
		b.ids, b.numbers, b.out = b.ids[:0], b.numbers[:0], b.out[:0]
		return b
	}
	return new(batch)
}

// put keeps a batch.
func (p *batchPool) put(b *batch) {
	if cap(b.out) <= maxPooled {
		p.pool.Put(b)
	}
}
