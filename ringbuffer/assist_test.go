package ringbuffer

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// With Assist, a taker puts a run itself if the padder was woken but has not run. This ring has no
// padder at all, so no take fails, even with the policy Fail. Without Assist, takes fail.
func TestTakersPadWithoutPadder(t *testing.T) {
	for _, assist := range []bool{true, false} {
		provider := &countingProvider{length: 3}
		r, err := newRing(Config{Capacity: 4, Provider: provider, TakePolicy: Fail, Assist: assist}, 0)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := r.fill(context.Background(), &r.counters.paddings.initial); err != nil {
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

// After the padder was woken it pauses, and takers keep the fill level at the threshold. When the pause
// is over and no goroutine takes any more, the padder fills the ring, and the next time that the level
// falls below the threshold wakes it again.
func TestPadderPausesAfterWake(t *testing.T) {
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
		if st := r.Stats(); st.FillRuns != 8 || st.Paddings.Immediate != 1 || !r.padderPaused.Load() {
			t.Fatalf("after the wake-up: paused %v, %+v", r.padderPaused.Load(), st)
		}
		takeMany(50) // the level falls below the threshold twice while no time passes: one run each time
		synctest.Wait()
		if st := r.Stats(); st.Paddings.Immediate != 1+2 || provider.calls.Load() != 8+4+2 || !r.padderPaused.Load() {
			t.Fatalf("while the padder pauses: %d calls, %+v", provider.calls.Load(), st)
		}
		takeMany(1_000)
		if st := r.Stats(); st.RejectedTakes != 0 || st.FillRuns < 4 {
			t.Fatalf("while the padder pauses: %+v", st)
		}
		time.Sleep(padderPause)
		synctest.Wait()
		if st := r.Stats(); st.FillRuns != 8 || !r.padderPaused.Load() {
			t.Fatalf("after the pause: paused %v, %+v", r.padderPaused.Load(), st)
		}
		time.Sleep(padderPause)
		synctest.Wait()
		if r.padderPaused.Load() {
			t.Fatal("the padder pauses although no run was taken")
		}
		before := r.Stats().Paddings.Immediate
		takeMany(40) // the last take wakes the padder, so no take runs concurrently with it
		synctest.Wait()
		if st := r.Stats(); st.FillRuns != 8 || st.Paddings.Immediate != before+1 || !r.padderPaused.Load() {
			t.Errorf("after the second wake-up: paused %v, %+v", r.padderPaused.Load(), st)
		}
	})
}

// If the ring is empty, the padder runs even during its pause: no taker waits for the end of the pause.
func TestPauseDoesNotDelayTakers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newTestRing(t, Config{Capacity: 2, TakePolicy: Wait, Assist: true, Provider: &countingProvider{length: 1}})
		mustTake(t, r, 0)
		mustTake(t, r, 1)
		synctest.Wait()
		if !r.padderPaused.Load() {
			t.Fatal("the padder does not pause")
		}
		begin := time.Now()
		for v := range int64(100) {
			mustTake(t, r, v+2)
		}
		if waited := time.Since(begin); waited != 0 {
			t.Errorf("takes waited %v, want 0", waited)
		}
	})
}

// While a taker asks the provider, the padder finds no room. If the provider then has no run yet, or fails, the padder tries
// again, although no further take asks for it. (The model in package proof found this interleaving.)
func TestAssistWithoutRunWakesPadder(t *testing.T) {
	for _, failure := range []error{&NotYetError{After: time.Millisecond}, errors.New("boom")} {
		synctest.Test(t, func(t *testing.T) {
			good := &countingProvider{length: 2}
			called, answer := make(chan struct{}), make(chan error)
			var blocks atomic.Bool
			r, err := newRing(Config{Capacity: 2, Assist: true, Logger: discardLogger(), Provider: providerFunc(func(ctx context.Context) (Run, error) {
				if blocks.CompareAndSwap(true, false) {
					close(called)
					return Run{}, <-answer
				}
				return good.NextRun(ctx)
			})}, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			if _, err := r.fill(context.Background(), &r.counters.paddings.initial); err != nil {
				t.Fatal(err)
			}
			r.startPadder(0)
			mustTake(t, r, 0)
			mustTake(t, r, 1)
			blocks.Store(true)
			go r.Take(context.Background())
			<-called
			time.Sleep(10 * padderPause) // the padder finds no room, also after its pause
			answer <- failure
			time.Sleep(time.Second)
			if n := r.Stats().FillRuns; n != 2 {
				t.Errorf("%v: the ring has %d runs, want 2", failure, n)
			}
		})
	}
}
