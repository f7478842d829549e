package testserver

import (
	"encoding/binary"
	"errors"
	"os"
	"os/exec"
	"time"

	"github.com/ringuid/ringuid/internal/testkit"
)

// clockSource is a library for a clock that shows the time of the system plus an offset, or is stopped at a time other than 0, in
// microseconds. These two are the content of a file, which is mapped into the memory of the process. libfaketime cannot be used,
// because it deadlocks with jemalloc, which Redis uses.
const clockSource = `
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static volatile long long *set; // the offset, and the time at which the clock is stopped

__attribute__((constructor)) static void map(void) {
	int fd = open(getenv("RINGUID_CLOCK"), O_RDONLY | O_CLOEXEC);
	set = mmap(NULL, 2 * sizeof *set, PROT_READ, MAP_SHARED, fd, 0);
	if (fd < 0 || set == MAP_FAILED) abort();
	close(fd);
}

int clock_gettime(clockid_t id, struct timespec *t) {
	int result = syscall(SYS_clock_gettime, id, t);
	if (result == 0 && id == CLOCK_REALTIME && set) {
		long long stopped = set[1], us = stopped ? stopped : t->tv_sec * 1000000LL + t->tv_nsec / 1000 + set[0];
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

// A clock is a clock that shows another time than that of the system.
type clock struct {
	library, file string
	offset        time.Duration
}

// UseClock restarts the server with a clock that SetClock, StepClock and StopClock change. It requires a C compiler.
func (p *Process) UseClock() {
	p.tb.Helper()
	compiler, err := exec.LookPath("cc")
	if err != nil {
		testkit.Missing(p.tb, "cc was not found: install a C compiler (Debian's packages gcc and libc6-dev), or run make test, which does")
	}
	p.Stop()
	c := &clock{library: p.Path("clock.so"), file: p.Path("clock")}
	err = errors.Join(os.WriteFile(c.file, make([]byte, 16), 0o644), os.WriteFile(p.Path("clock.c"), []byte(clockSource), 0o600))
	if err != nil {
		p.tb.Fatal(err)
	}
	if out, err := exec.Command(compiler, "-O2", "-shared", "-fPIC", "-o", c.library, p.Path("clock.c")).CombinedOutput(); err != nil {
		p.tb.Fatalf("cc: %v\n%s", err, out)
	}
	if err := p.account.own(p.directory); err != nil {
		p.tb.Fatal(err)
	}
	p.restartWith(c)
}

// UseClockOf restarts the server with the clock of another one, which has one by UseClock or UseClockOf.
func (p *Process) UseClockOf(other *Process) {
	p.tb.Helper()
	p.restartWith(other.clock)
}

func (p *Process) restartWith(c *clock) {
	p.tb.Helper()
	p.Stop()
	p.clock = c
	p.environ = append(p.environ, "LD_PRELOAD="+c.library, "RINGUID_CLOCK="+c.file)
	p.Restart()
}

// SetClock makes the clock show the time plus offset.
func (p *Process) SetClock(offset time.Duration) {
	p.tb.Helper()
	p.clock.offset = offset
	p.writeClock(0, offset.Microseconds())
}

// StepClock changes the clock by d.
func (p *Process) StepClock(d time.Duration) {
	p.tb.Helper()
	p.SetClock(p.clock.offset + d)
}

// StopClock stops the clock at a time, or lets it continue if that is the zero time.
func (p *Process) StopClock(at time.Time) {
	p.tb.Helper()
	us := int64(0)
	if !at.IsZero() {
		us = at.UnixMicro()
	}
	p.writeClock(1, us)
}

// writeClock writes one of the two numbers of the clock's file.
func (p *Process) writeClock(index, us int64) {
	p.tb.Helper()
	f, err := os.OpenFile(p.clock.file, os.O_WRONLY, 0)
	if err != nil {
		p.tb.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteAt(binary.NativeEndian.AppendUint64(nil, uint64(us)), 8*index); err != nil {
		p.tb.Fatal(err)
	}
}
