//go:build unix

package redistest_test

import (
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ringuid/ringuid/internal/testkit/redistest"
)

// A server keeps its data across restarts, and is removed at the end of the test.
func TestServer(t *testing.T) {
	var directory string
	var pid int
	t.Run("server", func(t *testing.T) {
		s := redistest.Start(t, "--appendfsync", "always")
		directory = s.Directory()
		s.MustCommand("SET", "key", "value")
		for _, end := range []func(){s.Kill, s.Stop} {
			runID := s.Info("run_id")
			end()
			s.Restart()
			if value := s.MustCommand("GET", "key"); value != "value" {
				t.Errorf("the value is %q after a restart, want \"value\"", value)
			}
			if s.Info("run_id") == runID {
				t.Error("the restart has not changed the run ID")
			}
		}
		pid = s.PID()
	})
	if directory == "" {
		return // skipped
	}
	if _, err := os.Stat(directory); err == nil {
		t.Errorf("the directory %s was not removed", directory)
	}
	if err := syscall.Kill(pid, 0); err == nil {
		t.Errorf("process %d is still running", pid)
	}
}

// A replica that was disconnected and promoted lacks the last writes, and has another replication ID.
func TestReplica(t *testing.T) {
	primary := redistest.Start(t)
	replica := primary.Replica()
	primary.MustCommand("SET", "key", "1")
	replica.WaitSynced(primary)
	replica.Disconnect()
	primary.MustCommand("SET", "key", "2")
	id := primary.Info("master_replid")
	primary.Kill()
	if _, err := replica.Command("SET", "key", "3"); err == nil {
		t.Error("the replica accepts a write")
	}
	replica.Promote()
	if value := replica.MustCommand("GET", "key"); value != "1" {
		t.Errorf("the value is %q after the promotion, want \"1\"", value)
	}
	if got := replica.Info("master_replid"); got == id || got == "" {
		t.Errorf("the replication ID is %q after the promotion, and was %q; want another", got, id)
	}
}

// A paused server does not answer until it is resumed.
func TestPause(t *testing.T) {
	s := redistest.Start(t)
	s.Pause()
	replied := make(chan error, 1)
	go func() {
		_, err := s.Command("PING")
		replied <- err
	}()
	select {
	case err := <-replied:
		t.Errorf("a paused server has answered: %v", err)
	case <-time.After(50 * time.Millisecond):
	}
	s.Resume()
	if err := <-replied; err != nil {
		t.Error(err)
	}
	s.Pause()
	s.Stop() // ends a paused server too
}

// The clock of a server can be set, to and fro.
func TestSetClock(t *testing.T) {
	s := redistest.Start(t)
	s.UseClock()
	for _, offset := range []time.Duration{0, 48 * time.Hour, -time.Hour, 1500 * time.Millisecond, 0} {
		s.SetClock(offset)
		begin := time.Now().Truncate(time.Microsecond)
		seconds, micros, _ := strings.Cut(s.MustCommand("TIME"), "\n")
		sec, err1 := strconv.ParseInt(seconds, 10, 64)
		us, err2 := strconv.ParseInt(micros, 10, 64)
		got := time.Unix(sec, us*1000).Add(-offset)
		if end := time.Now(); err1 != nil || err2 != nil || got.Before(begin) || got.After(end) {
			t.Errorf("with the offset %v, the clock shows %v too early or %v too late (%v, %v)", offset, begin.Sub(got), got.Sub(end), err1, err2)
		}
	}
}
