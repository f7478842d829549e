package workerassign

import (
	"crypto/rand"
	"errors"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// The defaults are those of the documents: after a failover of a store that can lose writes, new leases begin 110 seconds later.
func TestDefaultTimes(t *testing.T) {
	if floor := DefaultHorizon + DefaultFencing + DefaultSkew; floor != 110*time.Second || DefaultSkew != 5*time.Second {
		t.Errorf("H + F + M is %v, and M is %v", floor, DefaultSkew)
	}
}

// The token is always at the end of the column, and the column has room for it.
func TestVerifiedPort(t *testing.T) {
	token := rand.Text()
	for port, want := range map[string]string{"8080": "8080#" + token, "1718000000000-12345": "1718000000000-12345#" + token, "": "#" + token,
		strings.Repeat("主", 64): strings.Repeat("主", 63-len(token)) + "#" + token} {
		if got := verifiedPort(port, token); got != want || utf8.RuneCountInString(got) > columnLength {
			t.Errorf("verifiedPort(%q) = %q, want %q", port, got, want)
		}
	}
}

// R3, R6: a lease begins F + H + m after its insert, and a grant that is made with a key before a failover ends before a
// lease with the same key begins after it, whichever values are used.
func TestR3VerifiedLeaseBegins(t *testing.T) {
	for _, v := range []Verification{{}, {Horizon: time.Hour, Fencing: time.Minute, Skew: time.Second}} {
		d := NewDisposable(nil, WithVerification(v))
		if !errors.Is(d.cfg.err, ErrOption) { // of the database only
			t.Fatal(d.cfg.err)
		}
		v = *d.cfg.verification
		old, next := newVerifiedLease(d, disposableLease{}, "a", start), newVerifiedLease(d, disposableLease{}, "b", start.Add(time.Second))
		lastLook := start.Add(time.Second + v.Fencing + v.Skew) // by the old primary's clock
		if end := lastLook.Add(v.Horizon); next.NotBefore().Before(end) || !next.NotBefore().Equal(start.Add(time.Second+v.Fencing+v.Horizon+v.Skew)) {
			t.Errorf("the next lease begins at %v, and the old primary may grant up to %v", next.NotBefore(), end)
		}
		if old.granted.After(start.Add(v.Horizon)) || old.granted.After(old.begin) {
			t.Errorf("a new lease is granted up to %v", old.granted)
		}
	}
	for _, v := range []Verification{{Horizon: -1}, {Fencing: -1}, {Skew: -1}, {Horizon: 400 * 24 * time.Hour}} {
		if d := NewDisposable(nil, WithVerification(v)); d.cfg.verification != nil {
			t.Errorf("%+v is accepted", v)
		}
	}
}

// R6: a lease is always bounded, also if its horizon is less than the bound of the clocks.
func TestR6VerifiedLeaseIsBounded(t *testing.T) {
	for horizon, want := range map[time.Duration]time.Duration{time.Second: 1, DefaultClockBound: 1, time.Minute: time.Minute - DefaultClockBound} {
		d := NewDisposable(nil, WithVerification(Verification{Horizon: horizon}))
		if g, err := newVerifiedLease(d, disposableLease{}, "a", start).Reserve(t.Context(), start); err != nil || g.Horizon != want {
			t.Errorf("with a horizon of %v, the grant is %+v, %v; want a horizon of %v; 0 means that it is not bounded", horizon, g, err, want)
		}
	}
}
