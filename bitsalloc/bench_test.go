package bitsalloc_test

import (
	"testing"

	"github.com/ringuid/ringuid/bitsalloc"
)

func BenchmarkAllocate(b *testing.B) {
	l := bitsalloc.Default()
	for b.Loop() {
		if _, err := l.Allocate(1<<27, 1<<21, 1<<12); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkAllocateUnchecked(b *testing.B) {
	l := bitsalloc.Default()
	for b.Loop() {
		l.AllocateUnchecked(1<<27, 1<<21, 1<<12)
	}
}

func BenchmarkSplit(b *testing.B) {
	l := bitsalloc.Default()
	for b.Loop() {
		l.Split(1<<62 + 1<<34)
	}
}
