package testserver

import (
	"encoding/binary"
	"os"
	"os/exec"
	"time"

	"github.com/ringuid/ringuid/internal/testkit"
)

// clockSource is a library that adds an offset, in microseconds, to the time of the system. The offset is the content of a
// file, which is mapped into the memory of the process. libfaketime cannot be used, because it deadlocks with jemalloc, which
// Redis uses.
const clockSource = `
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
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
	if (result == 0 && id == CLOCK_REALTIME && offset) {
		long long us = t->tv_sec * 1000000LL + t->tv_nsec / 1000 + *offset;
		t->tv_sec = us / 1000000;
		t->tv_nsec = us % 1000000 * 1000;
	}
	return result;
}

int gettimeofday(struct timeval *restrict tv, void *restrict tz) {
	struct timespec now;
	clock_gettime(CLOCK_REALTIME, &now);
	tv->tv_sec = now.tv_sec;
	tv->tv_usec = now.tv_nsec / 1000;
	return 0;
}
`

// compileClock makes the server start with a clock that SetClock can change.
func (p *Process) compileClock() {
	p.tb.Helper()
	compiler, err := exec.LookPath("cc")
	if err != nil {
		testkit.Missing(p.tb, "cc was not found: install a C compiler (Debian's packages gcc and libc6-dev), or run make test, which does")
	}
	p.SetClock(0)
	if err := os.WriteFile(p.Path("clock.c"), []byte(clockSource), 0o600); err != nil {
		p.tb.Fatal(err)
	}
	if out, err := exec.Command(compiler, "-O2", "-shared", "-fPIC", "-o", p.Path("clock.so"), p.Path("clock.c")).CombinedOutput(); err != nil {
		p.tb.Fatalf("cc: %v\n%s", err, out)
	}
	p.environ = append(p.environ, "LD_PRELOAD="+p.Path("clock.so"), "RINGUID_CLOCK_OFFSET="+p.Path("clock"))
}

// SetClock makes the clock of a server with Kind.Clock show the time plus offset, also after a restart.
func (p *Process) SetClock(offset time.Duration) {
	p.tb.Helper()
	f, err := os.OpenFile(p.Path("clock"), os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		p.tb.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteAt(binary.NativeEndian.AppendUint64(nil, uint64(offset.Microseconds())), 0); err != nil {
		p.tb.Fatal(err)
	}
}
