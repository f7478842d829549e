package ringbuffer

import (
	"context"
	"errors"
	"math"
	"testing"
	"testing/synctest"
	"time"
)

func TestPutRejectsInvalidRuns(t *testing.T) {
	r := newRingWithoutProvider(t, 2, 0)
	for _, run := range []Run{
		{First: -1, Length: 1},
		{First: 0, Length: 0},
		{First: 0, Length: -5},
		{First: math.MaxInt64, Length: 2},
		{First: 2, Length: math.MaxInt64},
	} {
		if err := r.Put(context.Background(), run); !errors.Is(err, ErrRun) {
			t.Errorf("Put(%+v) = %v, want ErrRun", run, err)
		}
	}
	if st := r.Stats(); st.Fill != 0 {
		t.Errorf("%d integers were put, want 0", st.Fill)
	}
	mustPut(t, r, math.MaxInt64, 1)
	mustPut(t, r, 1, math.MaxInt64)
	mustTake(t, r, math.MaxInt64)
	mustTake(t, r, 1)
}

func TestPutIntoFullRing(t *testing.T) {
	for _, first := range []uint64{0, math.MaxUint64 - 1} {
		r := newRingWithoutProvider(t, 2, first)
		mustPut(t, r, 0, 2)
		mustPut(t, r, 2, 2)
		for range 3 {
			if err := r.Put(context.Background(), Run{First: 4, Length: 2}); !errors.Is(err, ErrFull) {
				t.Fatalf("Put into a full ring = %v, want ErrFull", err)
			}
		}
		mustTake(t, r, 0) // the run is still in use
		if err := r.Put(context.Background(), Run{First: 4, Length: 2}); !errors.Is(err, ErrFull) {
			t.Fatalf("Put while the current run is in use = %v, want ErrFull", err)
		}
		mustTake(t, r, 1)
		mustPut(t, r, 4, 2)
		for want := int64(2); want < 6; want++ {
			mustTake(t, r, want)
		}
		if got := r.Stats().RejectedPuts; got != 4 {
			t.Errorf("RejectedPuts = %d, want 4", got)
		}
	}
}

// A second Put reserves the only place after the first one has found it. The first one must not put its run there too.
func TestTwoPutsForOnePlace(t *testing.T) {
	r := newRingWithoutProvider(t, 1, 0)
	second := true
	r.testHookReserve = func() {
		if second {
			second = false
			mustPut(t, r, 5, 1)
		}
	}
	if err := r.Put(context.Background(), Run{First: 9, Length: 1}); !errors.Is(err, ErrFull) {
		t.Errorf("Put() = %v, want ErrFull", err)
	}
	mustTake(t, r, 5)
}

// A Put reserves the only place, waits for the put lock, and its context ends. Meanwhile the padder has found no room, and a
// taker waits: it must get a run of the provider. (The model in package proof found this interleaving.)
func TestPutGivesUpReservedPlace(t *testing.T) {
	for _, policy := range []TakePolicy{Wait, CallerPads} {
		synctest.Test(t, func(t *testing.T) {
			r, err := newRing(Config{Capacity: 1, TakePolicy: policy, Provider: &countingProvider{length: 1}, Logger: discardLogger()}, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			r.startPadder(0)
			if !r.putLock.tryAcquire() { // as a goroutine that is suspended at the end of Put
				t.Fatal("the put lock is held")
			}
			ctx, cancel := context.WithCancel(context.Background())
			put, taken := make(chan error, 1), make(chan error, 1)
			go func() { put <- r.Put(ctx, Run{First: 100, Length: 1}) }()
			synctest.Wait()
			go func() {
				_, err := r.Take(context.Background())
				taken <- err
			}()
			synctest.Wait()
			cancel()
			if err := <-put; !errors.Is(err, context.Canceled) {
				t.Errorf("Put() = %v, want context.Canceled", err)
			}
			r.putLock.release()
			synctest.Wait()
			select {
			case err := <-taken:
				if err != nil {
					t.Errorf("Take() = %v", err)
				}
			default:
				t.Errorf("%v: the taker still waits, although the provider has runs", policy)
			}
		})
	}
}

// A goroutine that puts is suspended within publish, after takers can see the run. Takers that have
// used up that run do not spin, and miss neither the end of their context nor the next run.
func TestPublishSuspendedBetweenStores(t *testing.T) {
	for _, tt := range []struct {
		name   string
		cfg    Config
		takers int
	}{
		{"Wait", Config{Capacity: 4, TakePolicy: Wait}, 3},
		{"CallerPads", Config{Capacity: 4}, 3},
		{"CallerPads with a provider", Config{Capacity: 4, Provider: &countingProvider{length: 2}}, 3},
		{"one run", Config{Capacity: 1, TakePolicy: Wait}, 3},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tt.cfg.Logger = discardLogger()
				r, err := newRing(tt.cfg, 0)
				if err != nil {
					t.Fatal(err)
				}
				suspended := true
				r.testHookPublish = func() {
					if suspended {
						suspended = false
						time.Sleep(time.Second)
					}
				}
				go r.Put(context.Background(), Run{First: 10, Length: 2})
				synctest.Wait()
				mustTake(t, r, 10)
				mustTake(t, r, 11)
				late := make(chan error, 10)
				if tt.cfg.Capacity > 1 { // they wake when the suspended goroutine continues, and take from the next run
					for range tt.takers {
						go func() {
							ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
							defer cancel()
							_, err := r.Take(ctx)
							late <- err
						}()
					}
				}
				ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
				defer cancel()
				begin := time.Now()
				_, err = r.Take(ctx)
				if took := time.Since(begin); !errors.Is(err, context.DeadlineExceeded) || took != 50*time.Millisecond {
					t.Errorf("Take() = %v after %v", err, took)
				}
				if n := r.Stats().RejectedTakes; n > 10 {
					t.Errorf("the policy was called %d times, want at most 10", n)
				}
				time.Sleep(time.Second)
				if tt.cfg.Capacity > 1 {
					if tt.cfg.Provider == nil {
						mustPut(t, r, 20, int64(tt.takers))
					}
					for range tt.takers {
						if err := <-late; err != nil {
							t.Errorf("Take() = %v", err)
						}
					}
					if took := time.Since(begin); took > 2*time.Second {
						t.Errorf("takers were woken after %v, want at most 2 s", took)
					}
				}
				r.Close()
			})
		})
	}
}
