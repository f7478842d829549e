//go:build linux && !race

package uid_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/ringuid/ringuid/internal/testkit"
)

// The wall clock of a process steps forward by 50 minutes, back by two hours, and forward by more than
// is followed at once, while 8 goroutines take UIDs from both kinds of generator: there is no duplicate
// and no negative UID, UIDs increase in each goroutine, and steps forward are followed.
//
// libfaketime moves the clock. It replaces the clock functions of the C library, which Go does not use.
// So the process runs in QEMU's user mode, which does use them.
func TestMovedClock(t *testing.T) {
	if folder := testkit.ChildArg(); folder != "" {
		if err := generateUntilStopFile(folder); err != nil {
			fmt.Println(err)
		}
		return
	}
	arch := map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[runtime.GOARCH]
	qemu, err := exec.LookPath("qemu-" + arch)
	libraries, _ := filepath.Glob("/usr/lib/*/faketime/libfaketimeMT.so.1")
	if err != nil || len(libraries) == 0 {
		testkit.Missing(t, "QEMU's user mode or libfaketime is missing; on Debian: apt-get install qemu-user libfaketime")
	}
	testkit.Slow(t, "it takes 7 s")
	t.Parallel()
	offset := filepath.Join(t.TempDir(), "offset")
	move := func(to time.Duration) {
		t.Helper()
		// Renamed, so that the library never reads a part of it.
		if err := os.WriteFile(offset+".new", fmt.Appendf(nil, "%+.0f\n", to.Seconds()), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(offset+".new", offset); err != nil {
			t.Fatal(err)
		}
	}
	move(0)
	c := startGenerating(t, []string{qemu}, "LD_PRELOAD="+libraries[0],
		"FAKETIME_TIMESTAMP_FILE="+offset, "FAKETIME_NO_CACHE=1", "FAKETIME_DONT_FAKE_MONOTONIC=1")
	for _, to := range []time.Duration{50 * time.Minute, -70 * time.Minute, 3 * time.Hour} {
		move(to)
		c.awaitMove(to)
	}
	c.stop(4*time.Hour + 10*time.Minute)
}
