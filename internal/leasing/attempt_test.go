package leasing

import (
	"context"
	"runtime"
	"testing"
	"testing/synctest"
	"time"
)

// A task whose assigner ends the goroutine by runtime.Goexit has ended: it can be started again, and nobody waits for it.
func TestGoexitEndsTask(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newTestManager(t, 31)
		hooks := m.cfg.Hooks
		hooks.Go = nil
		m.SetHooks(hooks)
		var task retryTask
		tries := 0
		for range 2 {
			m.run(m.ctx, &task, "act", 0, func(context.Context) (bool, error) {
				if tries++; tries == 1 {
					runtime.Goexit()
				}
				return true, nil
			})
			synctest.Wait()
		}
		if tries != 2 || task.isRunning() || task.err != nil || m.notified != 1 {
			t.Errorf("%d tries, running %v, error %v, %d notifications; want 2, false, nil, 1", tries, task.isRunning(), task.err, m.notified)
		}
		task.stopAndWait()
		m.running.Wait()
	})
}

// A try takes at most TryTimeout, or the timeout of its task.
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
}
