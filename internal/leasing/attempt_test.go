package leasing

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// A panic of the assigner is a failed try.
func TestPanicIsAFailedTry(t *testing.T) {
	m := newTestManager(t, 31)
	var task retryTask
	tries := 0
	var during error
	m.run(m.ctx, &task, "act", 0, func(context.Context) (bool, error) {
		if tries++; tries == 1 {
			panic("boom")
		}
		during = m.run(m.ctx, &task, "act", 0, nil)
		return true, nil
	})
	m.runTasks()
	if tries != 2 || !errors.Is(during, ErrLease) || !strings.Contains(during.Error(), "the assigner panicked: boom") {
		t.Errorf("%d tries, and the error after the first one is %v", tries, during)
	}
	m.wantLog(t, 1, "ERROR uid: the assigner panicked")
}

// An assigner that ends its goroutine by runtime.Goexit has failed that try. The task continues in another
// goroutine, after a delay that grows, and can be waited for.
func TestGoexitIsAFailedTry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newTestManager(t, 31)
		hooks := m.cfg.Hooks
		hooks.Go = nil
		m.SetHooks(hooks)
		const exits = 10
		var task retryTask
		tries := 0
		var during error
		m.run(m.ctx, &task, "act", 0, func(context.Context) (bool, error) {
			if tries++; tries <= exits {
				runtime.Goexit()
			}
			during = m.run(m.ctx, &task, "act", 0, nil)
			return true, nil
		})
		synctest.Wait()
		if tries != exits+1 || task.isRunning() || task.err != nil || m.notified != 1 {
			t.Errorf("%d tries, running %v, error %v, %d notifications; want %d, false, nil, 1", tries, task.isRunning(), task.err, m.notified, exits+1)
		}
		if !errors.Is(during, ErrLease) || !strings.Contains(during.Error(), errGoexit.Error()) {
			t.Errorf("the error after a call of Goexit is %v", during)
		}
		var want []time.Duration
		for n := range int64(exits) {
			want = append(want, retryPause(n+1))
		}
		if !slices.Equal(m.delays, want) {
			t.Errorf("the delays are %v, want %v", m.delays, want)
		}
		m.wantLog(t, exits, "ERROR uid: the assigner ended the goroutine that called it")
		task.stopAndWait()
		m.running.Wait()
	})
}

// A try takes at most TryTimeout, or the timeout of its task; without a timeout, as long as it takes.
func TestTryHasATimeout(t *testing.T) {
	for timeout, want := range map[time.Duration]time.Duration{0: TryTimeout, 30 * time.Second: 30 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			m := newTestManager(t, 31)
			task := retryTask{timeout: timeout}
			begin, tries := time.Now(), 0
			m.run(m.ctx, &task, "act", 0, func(ctx context.Context) (bool, error) {
				if tries++; tries > 1 {
					return true, nil
				}
				<-ctx.Done()
				return false, ctx.Err()
			})
			m.runTasks()
			if took := time.Since(begin); took != want || tries != 2 {
				t.Errorf("timeout %v: the first of %d tries took %v, want %v", timeout, tries, took, want)
			}
		})
	}
	m := newTestManager(t, 31)
	m.attempt(t.Context(), 0, func(ctx context.Context) (bool, error) {
		if _, ok := ctx.Deadline(); ok {
			t.Error("a try without a timeout has a deadline")
		}
		return true, nil
	})
}
