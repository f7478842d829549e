package ringbuffer

import (
	"context"
	"errors"
	"math"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringuid/ringuid/internal/testkit"
	"github.com/ringuid/ringuid/internal/testkit/uniq"
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

// A ring with a provider has no Put.
func TestPutWithProvider(t *testing.T) {
	r := newTestRing(t, Config{Capacity: 2, Provider: &countingProvider{length: 1}})
	mustTake(t, r, 0)
	if err := r.Put(context.Background(), Run{First: 100, Length: 1}); !errors.Is(err, ErrConfig) || !strings.Contains(err.Error(), "the ring has a provider") {
		t.Errorf("Put() = %v, want ErrConfig that names the provider", err)
	}
	mustTake(t, r, 1)
	mustTake(t, r, 2)
}

// A Put waits while another one stores its run, and no longer than its context. Then it puts its run behind, if there is room.
func TestPutWaitsForPut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRingWithoutProvider(t, 2, 0)
		results := make([]chan error, 4)
		put := func(ctx context.Context, n int64) {
			results[n] = make(chan error, 1)
			go func() { results[n] <- r.Put(ctx, Run{First: n, Length: 1}) }()
		}
		ctx, cancel := context.WithCancel(context.Background())
		resume := make(chan struct{})
		r.testHookPublish = func() {
			r.testHookPublish = nil
			<-resume
		}
		put(context.Background(), 0)
		synctest.Wait()
		put(ctx, 1)
		put(context.Background(), 2)
		synctest.Wait()
		cancel()
		if err := <-results[1]; !errors.Is(err, context.Canceled) {
			t.Errorf("Put() = %v, want context.Canceled", err)
		}
		select {
		case err := <-results[2]:
			t.Errorf("Put() = %v, while another one stores its run", err)
		default:
		}
		close(resume)
		for _, n := range []int{0, 2} {
			if err := <-results[n]; err != nil {
				t.Errorf("Put() = %v", err)
			}
		}
		put(context.Background(), 3)
		if err := <-results[3]; !errors.Is(err, ErrFull) {
			t.Errorf("Put() = %v, want ErrFull", err)
		}
		mustTake(t, r, 0)
		mustTake(t, r, 2)
	})
}

// A Put that waits when Close is called returns ErrClosed.
func TestCloseDuringPut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRingWithoutProvider(t, 2, 0)
		resume := make(chan struct{})
		r.testHookPublish = func() {
			r.testHookPublish = nil
			<-resume
		}
		put, closed := make(chan error, 2), make(chan error, 1)
		for range 2 {
			go func() { put <- r.Put(context.Background(), Run{First: 1, Length: 1}) }()
		}
		synctest.Wait()
		go func() { closed <- r.Close() }()
		synctest.Wait()
		close(resume)
		for range 2 {
			if err := <-put; err != ErrClosed {
				t.Errorf("Put() = %v, want ErrClosed", err)
			}
		}
		if err := <-closed; err != nil {
			t.Errorf("Close() = %v", err)
		}
	})
}

// Each run of a Put that has succeeded is taken once, whoever puts and takes concurrently.
func TestConcurrentPuts(t *testing.T) {
	for _, capacity := range []int{1, 2, 4} {
		r, err := newRing(Config{Capacity: capacity, TakePolicy: Wait, Logger: discardLogger()}, math.MaxUint64-100)
		if err != nil {
			t.Fatal(err)
		}
		const putters = 4
		runs := testkit.Amount[int64](2_000, 5_000, 50_000)
		var all sync.WaitGroup
		for p := range int64(putters) {
			all.Go(func() {
				for n := range runs {
					for r.Put(context.Background(), Run{First: (p*runs + n) * 2, Length: 2}) != nil {
						runtime.Gosched() // the ring is full
					}
				}
			})
		}
		var seen uniq.Set
		for range 2 {
			all.Go(func() {
				w := seen.Writer()
				for range putters * runs {
					v, err := r.Take(context.Background())
					if err != nil || !w.Add(v) {
						t.Errorf("Take() = %d, %v; want an integer that was not taken", v, err)
						return
					}
				}
			})
		}
		all.Wait()
		r.Close()
	}
}

// A goroutine that puts is suspended within publish, after takers can see the run. Takers that have
// used up that run do not spin, and miss neither the end of their context nor the next run.
func TestPublishSuspendedBetweenStores(t *testing.T) {
	from10 := &countingProvider{length: 2}
	from10.next.Store(10)
	for _, tt := range []struct {
		name   string
		cfg    Config
		takers int
	}{
		{"Wait", Config{Capacity: 4, TakePolicy: Wait}, 3},
		{"CallerPads", Config{Capacity: 4}, 3},
		{"CallerPads with a provider", Config{Capacity: 4, Provider: from10}, 3},
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
				if tt.cfg.Provider != nil {
					go r.Pad(context.Background())
				} else {
					go r.Put(context.Background(), Run{First: 10, Length: 2})
				}
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
