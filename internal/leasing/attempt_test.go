package leasing

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// A task whose assigner ends the goroutine by runtime.Goexit, as a test's FailNow does, has failed permanently: nobody waits for it, and
// it is not started again.
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
				tries++
				runtime.Goexit()
				return true, nil
			})
			synctest.Wait()
		}
		err := m.run(m.ctx, &task, "act", 0, nil)
		if tries != 1 || task.isRunning() || m.notified != 1 || !errors.Is(err, ErrLease) || !strings.Contains(err.Error(), errGoexit.Error()) {
			t.Errorf("%d tries, running %v, %d notifications, error %v; want 1, false, 1, and ErrLease", tries, task.isRunning(), m.notified, err)
		}
		m.wantLog(t, 1, "ERROR uid: failed permanently")
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

// A try lasts ten seconds at most, and Close waits for a release for five: the documentation of package uid says so.
func TestTimeouts(t *testing.T) {
	if TryTimeout.String() != "10s" || ReleaseTimeout.String() != "5s" {
		t.Errorf("TryTimeout is %v and ReleaseTimeout %v, want 10s and 5s", TryTimeout, ReleaseTimeout)
	}
}

// Sleep reports whether the pause was over before the context.
func TestSleep(t *testing.T) {
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if Sleep(ended, time.Hour) || !Sleep(t.Context(), time.Nanosecond) {
		t.Error("Sleep says that a pause was over which the context has ended, or that one was not")
	}
}
