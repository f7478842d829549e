package redistest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/ringuid/ringuid/internal/testkit"
)

// clockSource is a library that adds an offset, in microseconds, to the result of gettimeofday, which is
// where Redis reads the time. libfaketime cannot be used, because it deadlocks with jemalloc.
const clockSource = `
#include <fcntl.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

int gettimeofday(struct timeval *restrict tv, void *restrict tz) {
	struct timespec now;
	char text[32] = {0};
	long long us;
	int fd = open(getenv("RINGUID_CLOCK_OFFSET"), O_RDONLY | O_CLOEXEC);
	if (fd < 0 || read(fd, text, sizeof text - 1) < 0) abort();
	close(fd);
	syscall(SYS_clock_gettime, CLOCK_REALTIME, &now);
	us = now.tv_sec * 1000000LL + now.tv_nsec / 1000 + atoll(text);
	tv->tv_sec = us / 1000000;
	tv->tv_usec = us % 1000000;
	return 0;
}
`

// StartWithClock is like Start, for a server whose clock SetClock can change. It requires a C compiler.
func StartWithClock(tb testing.TB, flags ...string) *Server {
	tb.Helper()
	testkit.Slow(tb, "it starts a server")
	compiler, err := exec.LookPath("cc")
	if err != nil {
		testkit.Missing(tb, "cc was not found: install a C compiler (Debian's packages gcc and libc6-dev), or run make test, which does")
	}
	return start(tb, func(directory string) []string {
		writeClock(tb, directory, 0)
		source, library := filepath.Join(directory, "clock.c"), filepath.Join(directory, "clock.so")
		if err := os.WriteFile(source, []byte(clockSource), 0o600); err != nil {
			tb.Fatal(err)
		}
		if out, err := exec.Command(compiler, "-O2", "-shared", "-fPIC", "-o", library, source).CombinedOutput(); err != nil {
			tb.Fatalf("cc: %v\n%s", err, out)
		}
		return []string{"LD_PRELOAD=" + library, "RINGUID_CLOCK_OFFSET=" + clockFile(directory)}
	}, flags)
}

// SetClock makes the clock of a server of StartWithClock show the time plus offset, also after a restart.
func (s *Server) SetClock(offset time.Duration) {
	s.tb.Helper()
	writeClock(s.tb, s.directory, offset)
}

// clockFile returns the path of the file with the offset of the clock.
func clockFile(directory string) string { return filepath.Join(directory, "clock") }

// writeClock replaces the file, so that the server never reads a part of it.
func writeClock(tb testing.TB, directory string, offset time.Duration) {
	tb.Helper()
	next := clockFile(directory) + ".next"
	if err := os.WriteFile(next, strconv.AppendInt(nil, offset.Microseconds(), 10), 0o600); err != nil {
		tb.Fatal(err)
	}
	if err := os.Rename(next, clockFile(directory)); err != nil {
		tb.Fatal(err)
	}
}
