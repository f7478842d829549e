//go:build unix

package workerassign_test

import (
	"os"
	"syscall"
	"testing"
)

// stopProcess returns functions that stop a process and let it continue.
func stopProcess(t *testing.T, p *os.Process) (stop, resume func()) {
	signal := func(s syscall.Signal) func() {
		return func() {
			if err := p.Signal(s); err != nil {
				t.Fatal(err)
			}
		}
	}
	return signal(syscall.SIGSTOP), signal(syscall.SIGCONT)
}
