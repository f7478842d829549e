package slotrecord

import (
	"errors"
	"testing"
	"time"

	"github.com/ringuid/ringuid/workerassign"
	"github.com/ringuid/ringuid/workerassign/recycled"
)

// What is written is read again, with zero times, times before 1970 and names of any bytes that JSON keeps.
func TestRoundTrip(t *testing.T) {
	at := func(ms int64) time.Time { return time.UnixMilli(ms).UTC() }
	slot := recycled.Slot{WorkerID: 7, Revision: 3, Token: "token", From: at(1_795_000_000_001), Until: at(1_795_000_000_002), History: `h"1`,
		Written: at(-5), FreeAt: at(9_999_999_999_999), Holder: recycled.Holder{Name: "a/b ü\x00", Host: "h", Process: "1", Since: at(3)}}
	pool := recycled.Pool{Revision: 2, Format: "1-28-22-13", First: 4, Slots: 9, History: "h", Since: at(0), Floor: at(2),
		Horizon: 75 * time.Second, Fencing: 0, Skew: time.Millisecond}
	for _, want := range []recycled.Slot{slot, {Revision: 1}} {
		if got, err := DecodeSlot(EncodeSlot(want)); err != nil || got != want {
			t.Errorf("%v, %v; want %v", got, err, want)
		}
	}
	for _, want := range []recycled.Pool{pool, {Revision: 1}} {
		if got, err := DecodePool(EncodePool(want)); err != nil || got != want {
			t.Errorf("%v, %v; want %v", got, err, want)
		}
	}
}

// A text that is no record, or has no revision, is a permanent error that shows it.
func TestDamaged(t *testing.T) {
	_, err := DecodeSlot([]byte(`{"workerID":`))
	_, err2 := DecodePool(nil)
	_, err3 := DecodeSlot([]byte(`{"workerID":1,"rev":7}`))
	_, err4 := DecodePool([]byte(`{"revision":-1}`))
	for _, err := range []error{err, err2, err3, err4} {
		if !errors.Is(err, recycled.ErrPool) || !errors.Is(err, workerassign.ErrPermanent) {
			t.Error(err)
		}
	}
}

// Recent keeps the last 4,096 values, and not more than twice as many.
func TestRecent(t *testing.T) {
	var r Recent[int, int]
	if _, ok := r.Get(1); ok {
		t.Error("an empty Recent has a value")
	}
	const n = 20_000
	for i := range n {
		r.Put(i, -i)
		for _, back := range []int{0, 1, recentSize - 1} {
			if v, ok := r.Get(i - back); i >= back && (!ok || v != back-i) {
				t.Fatalf("after %d: %d, %v", i, v, ok)
			}
		}
	}
	if size := len(r.young) + len(r.old); size > 2*recentSize {
		t.Errorf("%d values are kept", size)
	}
}
