package zookeepertest

import (
	"encoding/binary"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/ringuid/ringuid/internal/testkit"
)

// clockSource is a library that adds an offset, in milliseconds, to the clock that Java reads the time from.
// The offset is the content of a file, which is mapped into the memory of the process.
const clockSource = `
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static volatile long long *offset;

__attribute__((constructor)) static void map(void) {
	int fd = open(getenv("RINGUID_CLOCK_OFFSET"), O_RDONLY | O_CLOEXEC);
	offset = mmap(NULL, sizeof *offset, PROT_READ, MAP_SHARED, fd, 0);
	if (fd < 0 || offset == MAP_FAILED) abort();
	close(fd);
}

int clock_gettime(clockid_t id, struct timespec *t) {
	int result = syscall(SYS_clock_gettime, id, t);
	if (result == 0 && id == CLOCK_REALTIME && offset) t->tv_sec += *offset / 1000;
	return result;
}
`

// StartWithClock is like Start, for a server whose clock SetClock can change. It requires a C compiler.
func StartWithClock(tb testing.TB) *Server {
	tb.Helper()
	testkit.Slow(tb, "it starts a server")
	compiler, err := exec.LookPath("cc")
	if err != nil {
		testkit.Missing(tb, "cc was not found: install a C compiler (Debian's packages gcc and libc6-dev), or run make test, which does")
	}
	return start(tb, func(s *Server) []string {
		s.SetClock(0)
		if err := os.WriteFile(s.Path("clock.c"), []byte(clockSource), 0o600); err != nil {
			tb.Fatal(err)
		}
		if out, err := exec.Command(compiler, "-O2", "-shared", "-fPIC", "-o", s.Path("clock.so"), s.Path("clock.c")).CombinedOutput(); err != nil {
			tb.Fatalf("cc: %v\n%s", err, out)
		}
		return []string{"LD_PRELOAD=" + s.Path("clock.so"), "RINGUID_CLOCK_OFFSET=" + s.Path("clock")}
	})
}

// SetClock makes the clock of a server of StartWithClock show the time plus offset, which is a number of whole
// seconds.
func (s *Server) SetClock(offset time.Duration) {
	s.tb.Helper()
	f, err := os.OpenFile(s.Path("clock"), os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		s.tb.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteAt(binary.NativeEndian.AppendUint64(nil, uint64(offset.Milliseconds())), 0); err != nil {
		s.tb.Fatal(err)
	}
}
