package leasing

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// failTimes returns a try that fails n times and then succeeds, and counts its calls.
func failTimes(n int, err error, calls *int) try {
	return func(context.Context) (bool, error) {
		if *calls++; *calls <= n {
			return false, err
		}
		return true, nil
	}
}

func TestRetryPauseDoubles(t *testing.T) {
	for failures, want := range map[int64]time.Duration{
		-1: 0, 0: 0, 1: 50 * time.Millisecond, 2: 100 * time.Millisecond, 3: 200 * time.Millisecond, 8: 6400 * time.Millisecond,
		9: 10 * time.Second, 17: 10 * time.Second, 64: 10 * time.Second, 1 << 40: 10 * time.Second,
	} {
		if got := retryPause(failures); got != want {
			t.Errorf("the pause after %d failures is %v, want %v", failures, got, want)
		}
	}
}

// A task is tried until it succeeds, with pauses that grow and are random in their upper half. The first
// failure and the success are logged.
func TestTaskIsTriedWithGrowingPauses(t *testing.T) {
	m := newTestManager(t, 31)
	var task retryTask
	calls := 0
	if err := m.run(m.ctx, &task, "act", 0, failTimes(12, errStore, &calls)); err != nil {
		t.Errorf("run() = %v before the first try", err)
	}
	m.runTasks()
	if calls != 13 || len(m.pauses) != 12 || len(m.delays) != 0 {
		t.Fatalf("%d tries, %d pauses, %d delays; want 13, 12, 0", calls, len(m.pauses), len(m.delays))
	}
	for n, pause := range m.pauses {
		if most := retryPause(int64(n + 1)); pause < most/2 || pause > most {
			t.Errorf("pause %d is %v, want %v to %v", n+1, pause, most/2, most)
		}
	}
	m.wantLog(t, 1, "WARN uid: failed, trying again")
	m.wantLog(t, 1, "INFO uid: recovered")
	if task.isRunning() || task.err != nil || m.notified != 1 {
		t.Errorf("after the success: running %v, error %v, %d notifications", task.isRunning(), task.err, m.notified)
	}
}

// A task notifies the generator only if it has changed something.
func TestTaskNotifiesOfChangesOnly(t *testing.T) {
	for _, changed := range []bool{false, true} {
		m := newTestManager(t, 31)
		var task retryTask
		m.run(m.ctx, &task, "act", 0, func(context.Context) (bool, error) { return changed, nil })
		m.runTasks()
		if m.notified > 0 != changed {
			t.Errorf("changed %v: %d notifications", changed, m.notified)
		}
		m.wantLog(t, 0, "INFO uid: recovered")
	}
}

// A task may have a longest pause, which may be 0.
func TestTaskHasALongestPause(t *testing.T) {
	for name, maxPause := range map[string]func() time.Duration{
		"limited": func() time.Duration { return time.Millisecond },
		"none":    func() time.Duration { return 0 },
	} {
		m := newTestManager(t, 31)
		task := retryTask{maxPause: maxPause}
		calls := 0
		m.run(m.ctx, &task, "act", 0, failTimes(5, errStore, &calls))
		m.runTasks()
		if len(m.pauses) != 5 {
			t.Fatalf("%s: %d pauses, want 5", name, len(m.pauses))
		}
		for n, pause := range m.pauses {
			if pause > time.Millisecond {
				t.Errorf("%s: pause %d is %v", name, n+1, pause)
			}
		}
	}
}

// A task that is running is not started again. Meanwhile run returns the error of its last try.
func TestTaskRunsOnce(t *testing.T) {
	m := newTestManager(t, 31)
	var task retryTask
	var errs []error
	calls := 0
	failing := failTimes(3, errStore, &calls)
	f := func(ctx context.Context) (bool, error) {
		errs = append(errs, m.run(m.ctx, &task, "act", 0, failing))
		return failing(ctx)
	}
	m.run(m.ctx, &task, "act", 0, f)
	m.run(m.ctx, &task, "act", 0, f)
	if n := m.runTasks(); n != 1 || calls != 4 {
		t.Errorf("%d tasks were started and %d tries made, want 1 and 4", n, calls)
	}
	if want := []error{nil, errStore, errStore, errStore}; !slices.Equal(errs, want) {
		t.Errorf("run() returned %v, want %v", errs, want)
	}
	if m.run(m.ctx, &task, "act", 0, f); m.runTasks() != 1 {
		t.Error("a task that has ended was not started again")
	}
}

// A task ends with its context, without an error: between two tries, during a try, and before the first.
func TestTaskEndsWithItsContext(t *testing.T) {
	for _, when := range []string{"pause", "try", "delay"} {
		m := newTestManager(t, 31)
		ctx, cancel := context.WithCancel(m.ctx)
		end := func(where string) bool {
			if where == when {
				cancel()
			}
			return where != when
		}
		m.cfg.Hooks.Pause = func(context.Context, time.Duration) bool { return end("pause") }
		m.cfg.Hooks.Delay = func(context.Context, time.Duration) bool { return end("delay") }
		var task retryTask
		tries := 0
		m.run(ctx, &task, "act", time.Second, func(context.Context) (bool, error) {
			tries++
			end("try")
			return true, errStore
		})
		m.runTasks()
		want := 1
		if when == "delay" {
			want = 0
		}
		if tries != want || task.isRunning() || task.err != nil || m.notified != 0 {
			t.Errorf("%s: %d tries, running %v, error %v, %d notifications; want %d, false, nil, 0",
				when, tries, task.isRunning(), task.err, m.notified, want)
		}
	}
}

// A task that was stopped is not started again.
func TestStoppedTaskIsNotStarted(t *testing.T) {
	m := newTestManager(t, 31)
	var task retryTask
	task.stop()
	m.run(m.ctx, &task, "act", 0, func(context.Context) (bool, error) {
		t.Error("a task that was stopped makes a try")
		return true, nil
	})
	if n := m.runTasks(); n != 0 || task.isRunning() {
		t.Errorf("%d tasks were started, running %v", n, task.isRunning())
	}
}

// stopAndWait returns when the task does not run any more.
func TestStopWaitsForTheTask(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newTestManager(t, 31)
		m.SetHooks(Hooks{})
		var task retryTask
		ended := false
		m.run(m.ctx, &task, "act", 0, func(ctx context.Context) (bool, error) {
			<-ctx.Done()
			time.Sleep(time.Second)
			ended = true
			return false, ctx.Err()
		})
		synctest.Wait()
		m.Cancel()
		if task.stopAndWait(); !ended || task.isRunning() {
			t.Errorf("stopAndWait returned although the task runs: its try ended: %v", ended)
		}
	})
}

// A worker ID that is out of range is a permanent error: the task ends, and run returns the error.
func TestPermanentErrorEndsTheTask(t *testing.T) {
	m := newTestManager(t, 31)
	var task retryTask
	calls := 0
	permanent := fmt.Errorf("no more: %w", ErrWorkerID)
	f := failTimes(100, permanent, &calls)
	m.run(m.ctx, &task, "act", 0, f)
	m.runTasks()
	for range 3 {
		if err := m.run(m.ctx, &task, "act", 0, f); err != permanent {
			t.Errorf("run() = %v, want the permanent error", err)
		}
	}
	if n := m.runTasks(); n != 0 || calls != 1 || len(m.pauses) != 0 || task.isRunning() {
		t.Errorf("%d tries, %d pauses, %d tasks started later; want 1, 0, 0", calls, len(m.pauses), n)
	}
	if m.notified != 1 {
		t.Errorf("%d notifications, want 1: waiting takers must see the error", m.notified)
	}
	m.wantLog(t, 1, "ERROR uid: failed permanently")
	m.wantLog(t, 0, "WARN uid: failed, trying again")
}

// The channel of nextTry is closed after the next try, whether that fails or succeeds.
func TestNextTryIsReported(t *testing.T) {
	m := newTestManager(t, 31)
	var task retryTask
	isClosed := func(c <-chan struct{}) bool {
		select {
		case <-c:
			return true
		default:
			return false
		}
	}
	first := task.nextTry()
	if again := task.nextTry(); again != first {
		t.Error("two waiters have different channels")
	}
	tries := 0
	var second <-chan struct{}
	m.run(m.ctx, &task, "act", 0, func(context.Context) (bool, error) {
		if tries++; tries == 1 {
			if isClosed(first) {
				t.Error("the channel is closed before the try has ended")
			}
			return false, errStore
		}
		if !isClosed(first) {
			t.Error("the channel is not closed after a try that failed")
		}
		if second = task.nextTry(); isClosed(second) {
			t.Error("the channel for the second try is closed before that has ended")
		}
		return true, nil
	})
	m.runTasks()
	if tries != 2 || !isClosed(second) {
		t.Error("the channel is not closed after the try that succeeded")
	}
}
