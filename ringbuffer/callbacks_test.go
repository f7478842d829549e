package ringbuffer

import (
	"context"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// A callback is user code of the ring that ends abnormally while it is armed.
type callback struct {
	armed atomic.Bool
	end   func()
}

// run is what the user code does.
func (c *callback) run() {
	if c.armed.Load() {
		c.end()
	}
}

// provide returns a provider that first does what the user code does.
func (c *callback) provide(p Provider) Provider {
	return providerFunc(func(ctx context.Context) (Run, error) {
		c.run()
		return p.NextRun(ctx)
	})
}

// A panic of user code that a goroutine of the caller runs is that goroutine's. After it, or after runtime.Goexit, nothing is marked
// as running: the ring hands out all that was put, in order, pads, and closes at once.
func TestCallbackEndsCaller(t *testing.T) {
	ctx := context.Background()
	take := func(r *Ring) { r.Take(ctx) }
	for name, tt := range map[string]struct {
		cfg  func(c *callback) Config
		call func(r *Ring, c *callback)
	}{
		"a provider, in a take": {func(c *callback) Config {
			return Config{Capacity: 1, Provider: c.provide(&countingProvider{length: 1})}
		}, func(r *Ring, _ *callback) { take(r) }},
		"a provider, in a take that assists": {func(c *callback) Config {
			return Config{Capacity: 2, Provider: c.provide(&countingProvider{length: 1}), Assist: true, TakePolicy: Fail}
		}, func(r *Ring, _ *callback) { take(r) }},
		"BeforeRun, in a take": {func(c *callback) Config {
			return Config{Capacity: 1, Provider: &countingProvider{length: 1}, BeforeRun: c.run}
		}, func(r *Ring, _ *callback) { take(r) }},
		"BeforeRun, in a take that assists": {func(c *callback) Config {
			return Config{Capacity: 2, Provider: &countingProvider{length: 1}, BeforeRun: c.run, Assist: true, TakePolicy: Fail}
		}, func(r *Ring, _ *callback) { take(r) }},
		"a take policy": {func(c *callback) Config {
			return Config{Capacity: 1, Provider: &countingProvider{length: 1},
				TakePolicy: takePolicyFunc(func(ctx context.Context, w Waiter) error { c.run(); return w.Pad(ctx) })}
		}, func(r *Ring, _ *callback) { take(r) }},
		"a put policy": {func(c *callback) Config {
			return Config{Capacity: 1,
				PutPolicy: putPolicyFunc(func(context.Context, *Ring, Run) error { c.run(); return ErrFull })}
		}, func(r *Ring, _ *callback) {
			r.Put(ctx, Run{First: 0, Length: 1})
			r.Put(ctx, Run{First: 1, Length: 1})
		}},
		"the function for Drop": {func(*callback) Config {
			return Config{Capacity: 1, Provider: &countingProvider{length: 1}}
		}, func(r *Ring, c *callback) { r.Drop(c.run) }},
	} {
		for how, end := range map[string]func(){"panic": func() { panic("boom") }, "Goexit": runtime.Goexit} {
			t.Run(name+"/"+how, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					c := &callback{end: end}
					cfg := tt.cfg(c)
					cfg.Logger = discardLogger()
					r, err := newRing(cfg, 0) // no padder, so only the caller runs user code
					if err != nil {
						t.Fatal(err)
					}
					if _, err := r.fill(ctx, &r.counters.paddings.initial); err != nil {
						t.Fatal(err)
					}
					taken := int64(0)
					if cfg.Provider != nil && !strings.HasPrefix(name, "the function") {
						mustTake(t, r, 0)
						taken++
					}
					c.armed.Store(true)
					returned, got := false, make(chan any)
					go func() {
						defer func() { got <- recover() }()
						tt.call(r, c)
						returned = true
					}()
					if v := <-got; returned || how == "panic" && v != "boom" {
						t.Errorf("the call has returned: %v; recover() = %v", returned, v)
					}
					c.armed.Store(false)
					if r.turn.held.Load() {
						t.Error("the turn is still held")
					}
					if cfg.Provider == nil {
						mustTake(t, r, 0)
						mustPut(t, r, 1, 1)
						mustTake(t, r, 1)
					} else {
						r.startPadder(0)
						for ; taken < 10; taken++ {
							synctest.Wait() // Fail needs a padder that has padded
							mustTake(t, r, taken)
						}
					}
					begin := time.Now()
					if err := r.Close(); err != nil || time.Since(begin) != 0 {
						t.Errorf("Close() = %v after %v", err, time.Since(begin))
					}
				})
			})
		}
	}
}

// New and Init pass on a panic of the provider, and leave no ring open.
func TestProviderPanicsInInit(t *testing.T) {
	c := &callback{end: func() { panic("boom") }}
	c.armed.Store(true)
	r := new(Ring)
	func() {
		defer func() {
			if v := recover(); v != "boom" {
				t.Errorf("recover() = %v", v)
			}
		}()
		r.Init(context.Background(), Config{Provider: c.provide(&countingProvider{length: 1}), Logger: discardLogger()})
	}()
	if _, err := r.Take(context.Background()); err != ErrClosed {
		t.Errorf("Take() = %v, want ErrClosed", err)
	}
}

// inPadder returns the configuration of a ring whose padder runs the user code of a name, and no other goroutine.
func inPadder(where string, c *callback) Config {
	cfg := Config{Capacity: 1, Interval: time.Second, TakePolicy: Wait, Provider: &countingProvider{length: 1}, Logger: discardLogger()}
	switch where {
	case "the provider":
		cfg.Provider = c.provide(cfg.Provider)
	case "BeforeRun":
		cfg.BeforeRun = c.run
	case "Stale":
		cfg.Stale = func(int64) bool { c.run(); return false }
	case "OnSchedule":
		cfg.OnSchedule = c.run
	}
	return cfg
}

// runtime.Goexit of user code ends the padder. Nothing is marked as running: takers can pad, and Close returns at once.
func TestGoexitEndsPadder(t *testing.T) {
	for _, where := range []string{"the provider", "BeforeRun", "Stale", "OnSchedule"} {
		synctest.Test(t, func(t *testing.T) {
			c := &callback{end: runtime.Goexit}
			r := newTestRing(t, inPadder(where, c))
			c.armed.Store(true)
			if where == "the provider" || where == "BeforeRun" {
				mustTake(t, r, 0)
				r.Kick()
			}
			<-r.padderDone // after a second at most
			c.armed.Store(false)
			for want := r.Stats().Taken; want < 5; want++ {
				if err := r.Pad(context.Background()); err != nil {
					t.Errorf("%s: Pad() = %v", where, err)
				}
				mustTake(t, r, int64(want))
			}
			begin := time.Now()
			if err := r.Close(); err != nil || time.Since(begin) != 0 {
				t.Errorf("%s: Close() = %v after %v", where, err, time.Since(begin))
			}
		})
	}
}

// A panic of user code in the padder ends the process, as any panic in a goroutine does.
func TestPanicInPadderEndsProcess(t *testing.T) {
	const env = "RINGUID_TEST_PANIC_IN"
	if where := os.Getenv(env); where != "" { // this is the child
		c := &callback{end: func() { panic("boom in " + where) }}
		cfg := inPadder(where, c)
		cfg.Interval = time.Millisecond
		r := newTestRing(t, cfg)
		c.armed.Store(true)
		for range 2 {
			r.Take(context.Background())
		}
		select {} // until the padder panics
	}
	for _, where := range []string{"the provider", "BeforeRun", "Stale", "OnSchedule"} {
		cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.timeout=5m")
		cmd.Env = append(os.Environ(), env+"="+where)
		if out, err := cmd.CombinedOutput(); err == nil || !strings.HasPrefix(string(out), "panic: boom in "+where) {
			t.Errorf("%s: %v, with the output %.200q", where, err, out)
		}
	}
}

// Init closes the ring if a callback panics after the first padding, when it takes the first run.
func TestInitPanicsAfterPadding(t *testing.T) {
	calls, runs := 0, int64(0)
	r := new(Ring)
	func() {
		defer func() {
			if recover() == nil {
				t.Error("Init does not panic")
			}
		}()
		r.Init(context.Background(), Config{
			Capacity: 4, Assist: true, Logger: discardLogger(),
			BeforeRun: func() {
				if calls++; calls == 3 { // two are of the first padding
					panic("boom")
				}
			},
			Provider: providerFunc(func(context.Context) (Run, error) {
				if runs++; runs > 1 {
					return Run{}, &NotYetError{After: time.Second}
				}
				return Run{First: 1, Length: 1}, nil
			}),
		})
	}()
	if v, err := r.Take(context.Background()); err != ErrClosed {
		t.Errorf("Take() = %d, %v; want ErrClosed", v, err)
	}
}
