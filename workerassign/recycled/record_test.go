package recycled

import (
	"errors"
	"testing"
	"time"

	"github.com/ringuid/ringuid/workerassign"
)

// What is written is read again, with zero times, times before 1970 and names of any bytes that JSON keeps.
func TestRecordRoundTrip(t *testing.T) {
	at := func(ms int64) time.Time { return time.UnixMilli(ms).UTC() }
	slot := Slot{WorkerID: 7, Revision: 3, Token: "token", From: at(1_795_000_000_001), Until: at(1_795_000_000_002), History: `h"1`,
		Written: at(-5), FreeAt: at(9_999_999_999_999), Holder: Holder{Name: "a/b ü\x00", Host: "h", Process: "1", Since: at(3)}}
	pool := Pool{Revision: 2, Format: "1-28-22-13", First: 4, Slots: 9, History: "h", Since: at(0), Floor: at(2),
		Horizon: 75 * time.Second, Fencing: 0, Skew: time.Millisecond}
	for _, want := range []Slot{slot, {Revision: 1}} {
		if got, err := DecodeSlot(want.Encode()); err != nil || got != want {
			t.Errorf("%v, %v; want %v", got, err, want)
		}
	}
	for _, want := range []Pool{pool, {Revision: 1}} {
		if got, err := DecodePool(want.Encode()); err != nil || got != want {
			t.Errorf("%v, %v; want %v", got, err, want)
		}
	}
}

// A text that is no record, or has no revision, is a permanent error that shows it.
func TestRecordDamaged(t *testing.T) {
	_, err := DecodeSlot([]byte(`{"workerID":`))
	_, err2 := DecodePool(nil)
	_, err3 := DecodeSlot([]byte(`{"workerID":1,"rev":7}`))
	_, err4 := DecodePool([]byte(`{"revision":-1}`))
	_, err5 := DecodePool(Pool{Revision: 1, Slots: -5}.Encode())
	_, err6 := DecodePool(Pool{Revision: 1, First: -1}.Encode())
	for _, err := range []error{err, err2, err3, err4, err5, err6} {
		if !errors.Is(err, ErrPool) || !errors.Is(err, workerassign.ErrPermanent) {
			t.Error(err)
		}
	}
}
