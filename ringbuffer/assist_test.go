package ringbuffer

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// A taker stands in for a padder that was woken and does not come: here there is none. So
// even the policy Fail fails nobody; and without Assist it does.
func TestTakersNeedNoPadder(t *testing.T) {
	for _, assist := range []bool{true, false} {
		provider := &countingProvider{length: 3}
		r, err := newRing(Config{Capacity: 4, Provider: provider, TakePolicy: Fail, Assist: assist}, 0)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := r.fill(context.Background(), Initial); err != nil {
			t.Fatal(err)
		}
		taken := 0
		for ; err == nil && taken < 1_000; taken++ {
			_, err = r.Take(context.Background())
		}
		switch {
		case assist && (err != nil || r.Stats().RejectedTakes != 0):
			t.Errorf("with Assist, after %d takes: %v, %+v", taken, err, r.Stats())
		case !assist && (!errors.Is(err, ErrEmpty) || taken != 4*3+1):
			t.Errorf("without Assist, after %d takes: %v", taken, err)
		}
		r.Close()
	}
}

// After the padder was woken it rests, and takers keep the ring at the threshold; then, when
// nobody takes any more, it fills the ring, and is woken again by the next crossing.
func TestPadderRestsAfterItWasWoken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		provider := &countingProvider{length: 10}
		r := newTestRing(t, Config{Capacity: 8, PaddingFactor: 50, Provider: provider, Assist: true})
		want := int64(0)
		takeMany := func(n int) {
			for range n {
				mustTake(t, r, want)
				want++
			}
		}
		takeMany(41)
		synctest.Wait()
		if st := r.Stats(); st.FillRuns != 8 || st.Paddings[Immediate] != 1 || !r.padderPaused.Load() {
			t.Fatalf("woken: resting %v, %+v", r.padderPaused.Load(), st)
		}
		takeMany(50) // two crossings, and no time passes: a run each
		synctest.Wait()
		if st := r.Stats(); st.Paddings[Immediate] != 1+2 || provider.calls.Load() != 8+4+2 || !r.padderPaused.Load() {
			t.Fatalf("while the padder rests: %d calls, %+v", provider.calls.Load(), st)
		}
		takeMany(1_000)
		if st := r.Stats(); st.RejectedTakes != 0 || st.FillRuns < 4 {
			t.Fatalf("while the padder rests: %+v", st)
		}
		time.Sleep(padderPause)
		synctest.Wait()
		if st := r.Stats(); st.FillRuns != 8 || !r.padderPaused.Load() {
			t.Fatalf("after its rest: resting %v, %+v", r.padderPaused.Load(), st)
		}
		time.Sleep(padderPause)
		synctest.Wait()
		if r.padderPaused.Load() {
			t.Fatal("it rests although nobody took anything")
		}
		before := r.Stats().Paddings[Immediate]
		takeMany(40) // the last one crosses, so that nothing is taken beside the padder
		synctest.Wait()
		if st := r.Stats(); st.FillRuns != 8 || st.Paddings[Immediate] != before+1 || !r.padderPaused.Load() {
			t.Errorf("woken again: resting %v, %+v", r.padderPaused.Load(), st)
		}
	})
}

// A padder that rests still comes when the ring is empty: nobody waits for its rest to end.
func TestRestDelaysNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newTestRing(t, Config{Capacity: 2, TakePolicy: Wait, Assist: true, Provider: &countingProvider{length: 1}})
		mustTake(t, r, 0)
		mustTake(t, r, 1)
		synctest.Wait()
		if !r.padderPaused.Load() {
			t.Fatal("the padder does not rest")
		}
		begin := time.Now()
		for v := range int64(100) {
			mustTake(t, r, v+2)
		}
		if waited := time.Since(begin); waited != 0 {
			t.Errorf("takes waited %v", waited)
		}
	})
}
