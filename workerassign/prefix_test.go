package workerassign

import (
	"context"
	"errors"
	"strings"
	"testing"
)

func TestPrefix(t *testing.T) {
	ctx := context.Background()
	a := Prefix(from(7), 5, 5) // Twitter's: five bits of data centre, five of worker
	for want := int64(5<<5 | 7); want < 6<<5; want++ {
		l, err := a.Assign(ctx, of10Bits)
		if err != nil || l.WorkerID() != want {
			t.Fatalf("worker ID %v, %v; want %d", l, err, want)
		}
	}
	inner := from(32)
	_, err := Prefix(inner, 5, 5).Assign(ctx, of10Bits)
	if !errors.Is(err, ErrWidth) || !strings.Contains(err.Error(), "32 is not from 0 to 31") || inner.released.Load() != 1 {
		t.Errorf("%v; %d leases were given back", err, inner.released.Load())
	}
	broken := from(32)
	broken.fail = errors.New("broken")
	if _, err := Prefix(broken, 5, 5).Assign(ctx, of10Bits); !errors.Is(err, broken.fail) {
		t.Errorf("%v", err)
	}
}
