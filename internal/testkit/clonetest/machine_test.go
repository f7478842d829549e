//go:build linux && amd64

package clonetest

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/ringuid/ringuid/internal/testkit"
	"github.com/ringuid/ringuid/internal/testkit/testserver"
)

// machine is a virtual machine, a process of QEMU. It is ended at the end of the test.
type machine struct {
	*testserver.Process
	tb      testing.TB
	port    net.Conn  // the guest's second serial port
	resumed time.Time // when the guest began to run
	lines   sync.WaitGroup
	partial string // of a line that is not complete
}

// boot starts a machine from a kernel and an image. It does not run before resume.
func boot(tb testing.TB, kernel, image string) *machine {
	tb.Helper()
	return start(tb, []string{"-kernel", kernel, "-initrd", image, "-append", "console=ttyS0 quiet panic=-1"})
}

// load starts a copy of a machine from a snapshot. It does not run before resume.
func load(tb testing.TB, kernel, image, snapshot string) *machine {
	tb.Helper()
	m := start(tb, []string{"-kernel", kernel, "-initrd", image, "-incoming", "exec:cat '" + snapshot + "'"})
	m.awaitStatus("paused")
	return m
}

// awaitStatus waits until QEMU says that the machine is in a state.
func (m *machine) awaitStatus(want string) {
	m.tb.Helper()
	testkit.Retry(m.tb, "the machine is "+want, func() error {
		var status struct{ Status string }
		if err := m.monitor("query-status", nil, &status); err != nil || status.Status != want {
			return fmt.Errorf("%q, %v", status.Status, err)
		}
		return nil
	})
}

func start(tb testing.TB, args []string) *machine {
	tb.Helper()
	testserver.Require(tb, "QEMU's system emulator (Debian's package qemu-system-x86)", "qemu-system-x86_64")
	m := &machine{tb: tb}
	m.Process = testserver.New(tb, testserver.Kind{
		Command: func() *exec.Cmd {
			return exec.Command("qemu-system-x86_64", append([]string{"-accel", "tcg", "-machine", "pc", "-cpu", "max", "-m", "192", "-display", "none", "-nodefaults", "-no-user-config",
				"-no-reboot", "-S", "-netdev", "user,id=net", "-device", "virtio-net-pci,netdev=net,romfile=", "-serial", "file:" + m.Path("console"),
				"-chardev", "socket,id=port,server=on,wait=off,path=" + m.Path("port"), "-serial", "chardev:port",
				"-qmp", fmt.Sprintf("tcp:%s,server=on,wait=off", m.Address())}, args...)...)
		},
		Ping:      func(context.Context) error { return m.monitor("query-status", nil, nil) },
		Ports:     1,
		Terminate: syscall.SIGTERM,
	})
	m.StartNew()
	port, err := net.Dial("unix", m.Path("port"))
	if err != nil {
		tb.Fatal(err)
	}
	m.port = port
	tb.Cleanup(func() {
		m.port.Close()
		m.lines.Wait()
		if tb.Failed() {
			console, _ := os.ReadFile(m.Path("console"))
			tb.Logf("the console of the guest ends with:\n%s", console[max(0, len(console)-4000):])
		}
	})
	return m
}

// monitor executes a command of QEMU's monitor. The result is stored in result, unless that is nil.
func (m *machine) monitor(command string, arguments map[string]any, result any) error {
	c, err := net.DialTimeout("tcp", m.Address(), 5*time.Second)
	if err != nil {
		return err
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(time.Minute))
	replies := json.NewDecoder(c)
	var reply struct {
		QMP, Error, Return json.RawMessage
	}
	if err := replies.Decode(&reply); err != nil || reply.QMP == nil {
		return fmt.Errorf("no greeting: %v", err)
	}
	for _, request := range []map[string]any{{"execute": "qmp_capabilities"}, {"execute": command, "arguments": arguments}} {
		if arguments == nil {
			delete(request, "arguments")
		}
		if err := json.NewEncoder(c).Encode(request); err != nil {
			return err
		}
		for reply.Return = nil; reply.Return == nil; { // other replies are events
			if err := replies.Decode(&reply); err != nil {
				return err
			}
			if reply.Error != nil {
				return fmt.Errorf("%s: %s", command, reply.Error)
			}
		}
	}
	if result == nil {
		return nil
	}
	return json.Unmarshal(reply.Return, result)
}

// must executes a command of QEMU's monitor.
func (m *machine) must(command string, arguments map[string]any) {
	m.tb.Helper()
	if err := m.monitor(command, arguments, nil); err != nil {
		m.tb.Fatal(err)
	}
}

// read calls f with each line of the guest, until the machine ends.
func (m *machine) read(f func(line string)) {
	m.lines.Go(func() {
		for r := bufio.NewReader(m.port); ; {
			line, err := r.ReadString('\n')
			m.partial += line
			if err != nil {
				return
			}
			f(strings.TrimSuffix(m.partial, "\n"))
			m.partial = ""
		}
	})
}

// command sends a command to the program in the guest.
func (m *machine) command(name string) {
	m.tb.Helper()
	if _, err := m.port.Write([]byte(name + "\n")); err != nil {
		m.tb.Fatal(err)
	}
}

// snapshot stops the machine, writes its state to a file, and ends it. All that the guest has printed was read when it returns. The rest
// of a line is what copies print first.
func (m *machine) snapshot() (path, partial string) {
	m.tb.Helper()
	path = filepath.Join(m.tb.TempDir(), "snapshot")
	m.must("stop", nil)
	m.must("migrate", map[string]any{"uri": "exec:cat > '" + path + "'"})
	testkit.Retry(m.tb, "the snapshot is written", func() error {
		var status struct{ Status string }
		if err := m.monitor("query-migrate", nil, &status); err != nil || status.Status != "completed" {
			return fmt.Errorf("%q, %v", status.Status, err)
		}
		return nil
	})
	m.end()
	return path, m.partial
}

// resume lets the machine run. The rest of a line of the machine that was copied comes first; f is called with each line.
func (m *machine) resume(partial string, f func(line string)) {
	m.tb.Helper()
	m.partial, m.resumed = partial, time.Now()
	m.read(f)
	m.must("cont", nil)
}

// end ends the machine, and waits until all of its lines were read.
func (m *machine) end() {
	m.Kill()
	m.lines.Wait()
}
