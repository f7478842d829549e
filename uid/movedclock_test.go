//go:build linux && !race

package uid_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
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
	arch := map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[runtime.GOARCH]
	qemu, err := exec.LookPath("qemu-" + arch)
	libraries, _ := filepath.Glob("/usr/lib/*/faketime/libfaketimeMT.so.1")
	if err != nil || len(libraries) == 0 {
		testkit.Missing(t, "QEMU's user mode or libfaketime is missing; on Debian: apt-get install qemu-user libfaketime")
	}
	testkit.Slow(t, "it takes 12 s")
	t.Parallel()
	folder := t.TempDir()
	offset := filepath.Join(folder, "offset")
	move := func(to string) {
		t.Helper()
		// Renamed, so that the library never reads a part of it.
		if err := os.WriteFile(offset+".new", []byte(to+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(offset+".new", offset); err != nil {
			t.Fatal(err)
		}
	}
	move("+0")
	cmd := exec.Command(qemu, os.Args[0], "-test.run=^TestStoppedProcess$", "-test.count=1", "-test.v")
	cmd.Env = append(os.Environ(), "RINGUID_TEST_STOP="+folder, "LD_PRELOAD="+libraries[0],
		"FAKETIME_TIMESTAMP_FILE="+offset, "FAKETIME_NO_CACHE=1", "FAKETIME_DONT_FAKE_MONOTONIC=1")
	var out strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Process.Kill()
	for _, to := range []string{"+0", "+50m", "-70m", "+3h"} {
		move(to)
		time.Sleep(2500 * time.Millisecond)
	}
	time.Sleep(2 * time.Second)
	if err := os.WriteFile(filepath.Join(folder, "stop"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	err = cmd.Wait()
	if err != nil || !strings.Contains(out.String(), "UIDs, all different, while the wall clock was moved by 4h10m0s") {
		t.Errorf("%v\n%s", err, out.String())
	}
	t.Log(out.String())
}
