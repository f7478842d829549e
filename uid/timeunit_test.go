package uid

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringuid/ringuid/internal/testkit"
	"github.com/ringuid/ringuid/workerassign"
)

// units are the time units of the tests.
var units = []time.Duration{time.Millisecond, 10 * time.Millisecond, 250 * time.Millisecond, time.Second}

// A UID's time is the start of the unit in which it was generated.
func TestTimeUnits(t *testing.T) {
	testkit.WithoutRace(t)
	for _, unit := range units {
		for _, mode := range modes {
			t.Run(mode.name+"/"+unit.String(), func(t *testing.T) {
				before := time.Now()
				g, err := mode.make(context.Background(), new(disposableAssigner), WithTimeUnit(unit), WithLayout(layout(t, 42, 1, 20)))
				if err != nil {
					t.Fatal(err)
				}
				defer g.Close()
				p := g.Parse(next(t, g))
				if p.Time.Before(before.Add(-unit)) || p.Time.After(time.Now()) || p.Time.Sub(DefaultEpoch())%unit != 0 {
					t.Errorf("the time of %v is not the start of the unit of %v in which it was generated, at %v", p, unit, before)
				}
				if want := int64(p.Time.Sub(DefaultEpoch()) / unit); p.Delta != want {
					t.Errorf("delta %d of %v, want %d", p.Delta, p, want)
				}
				second, err := mode.make(context.Background(), new(disposableAssigner), WithTimeUnit(unit), WithLayout(layout(t, 42, 1, 20)))
				if err != nil {
					t.Fatal(err)
				}
				defer second.Close()
				takeConcurrently(t, second, 8, 200_000, true)
			})
		}
	}
}

// Default generates no more UIDs in a unit than its sequence has, and waits no longer than necessary
// for the next unit.
func TestDefaultAtTheRateOfItsUnit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDefault(t, new(disposableAssigner), WithEpoch(bubbleEpoch), WithTimeUnit(10*time.Millisecond), WithLayout(layout(t, 42, 13, 8)))
		begin := time.Now()
		takeConcurrently(t, d, 4, 50*256, true)
		units := time.Duration(d.Stats().Issued/256) * 10 * time.Millisecond // 50, and a few more for the UIDs that each goroutine takes beyond the total
		if took := time.Since(begin); took < units-20*time.Millisecond || took > units+20*time.Millisecond {
			t.Errorf("the UIDs of %v took %v", units, took)
		}
	})
}

// A static lease grants no time in advance, in units of a millisecond too.
func TestStaticInMilliseconds(t *testing.T) {
	c := newCached(t, workerassign.Static(3), WithTwitterLayout())
	for range 20_000 {
		p := c.Parse(next(t, c))
		if ahead := time.Until(p.Time); ahead > 0 || p.WorkerID != 3 {
			t.Fatalf("%v is %v ahead", p, ahead)
		}
	}
}

func TestTwitterLayout(t *testing.T) {
	f, err := NewFormat(WithTwitterLayout())
	if err != nil {
		t.Fatal(err)
	}
	if f.Layout().String() != "1-41-10-12" || f.Unit() != time.Millisecond {
		t.Errorf("layout %v, unit %v", f.Layout(), f.Unit())
	}
	// 2^41 ms are 69.7 years.
	if want := time.Date(2095, 9, 7, 15, 47, 35, 552_000_000, time.UTC); !f.End().Equal(want) {
		t.Errorf("the end is %v, want %v", f.End(), want)
	}
	at := time.Date(2026, 11, 21, 7, 8, 9, 123_000_000, time.UTC)
	id, err := f.Compose(at, 5<<5|7, 42)
	if err != nil {
		t.Fatal(err)
	}
	// As Twitter composes it: milliseconds, data center, worker, sequence.
	if want := ID(at.Sub(DefaultEpoch()).Milliseconds()<<22 | 5<<17 | 7<<12 | 42); id != want {
		t.Errorf("%d, want %d", id, want)
	}
	const want = `"timestamp":"2026-11-21 07:08:09.123","workerId":"167","sequence":"42"}`
	if got := f.Parse(id).String(); got[len(got)-len(want):] != want {
		t.Errorf("%s", got)
	}
}

// The greatest UID of the layout for JavaScript is the greatest integer that JavaScript does not round.
func TestJavaScriptLayout(t *testing.T) {
	f := newFormat(t, WithTwitterLayout(), WithJavaScriptLayout()) // the unit of the former option does not remain
	if f.String() != "1-31-10-12 2026-01-01T00:00:00Z 1s" || f.Layout().MaxUID() != MaxSafeInteger {
		t.Errorf("the format is %v, and its greatest UID %d", f, f.Layout().MaxUID())
	}
	// What the comment of the option states.
	years := f.End().Sub(f.Epoch()).Hours() / 24 / 365.2425
	if years < 68 || years >= 69 || f.End().Year() != 2094 || f.Layout().MaxWorkerID() != 1023 || f.Layout().MaxSequence() != 4095 {
		t.Errorf("%v years, until %v, %d workers, %d a second", years, f.End(), f.Layout().MaxWorkerID()+1, f.Layout().MaxSequence()+1)
	}
	for _, id := range []ID{MaxSafeInteger - 1, MaxSafeInteger} {
		if ID(float64(id)) != id || ID(float64(id)-1) != id-1 {
			t.Errorf("%d is rounded", id)
		}
	}
	g := newDefault(t, workerassign.Static(1023), WithJavaScriptLayout())
	if _, err := NumberID(next(t, g)).MarshalJSON(); err != nil {
		t.Error(err)
	}
}
