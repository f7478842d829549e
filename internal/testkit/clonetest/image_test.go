//go:build linux && amd64

package clonetest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ringuid/ringuid/internal/testkit"
	"github.com/ringuid/ringuid/internal/testkit/clonetest/setup"
)

// guestEnv is the name of an environment variable with the directory of a kernel (vmlinuz), its modules for virtio's network, and
// a static busybox. The default is the directory where scripts/install.sh unpacks them.
const guestEnv = "RINGUID_GUEST"

// modules are the kernel modules of the network, in the order in which they are loaded.
var modules = strings.Fields("virtio_ring virtio virtio_pci_legacy_dev virtio_pci_modern_dev virtio_pci failover net_failover virtio_net")

// initScript is the first process of the guest. The second serial port carries the lines of the guest's program.
var initScript = `#!/bin/busybox sh
/bin/busybox --install -s /bin
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
for module in ` + strings.Join(modules, " ") + `; do insmod /modules/$module.ko; done
ip addr add 127.0.0.1/8 dev lo
ip link set lo up
ip addr add 10.0.2.15/24 dev eth0
ip link set eth0 up
ip route add default via 10.0.2.2
exec <>/dev/ttyS1 >&0
stty raw -echo 115200
exec /guest 2>/dev/console
`

// guestDirectory returns the directory with the kernel. If there is none, it skips the test or fails it, see package testkit.
func guestDirectory(tb testing.TB) string {
	tb.Helper()
	directory := os.Getenv(guestEnv)
	if directory == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			tb.Fatal(err)
		}
		directory = filepath.Join(cache, "ringuid", "guest")
	}
	if _, err := os.Stat(filepath.Join(directory, "vmlinuz")); err != nil {
		testkit.Missing(tb, "a kernel for the virtual machine was not found: run scripts/install.sh on Debian with ", testkit.FullEnv, "=1, or set ", guestEnv)
	}
	return directory
}

// writeImage writes the root file system of the guest, with its program: an archive in the format of cpio.
func writeImage(tb testing.TB, path, guest string, s setup.Setup) {
	tb.Helper()
	program := filepath.Join(tb.TempDir(), "guest")
	build := exec.Command("go", "build", "-ldflags=-s", "-o", program, "./guest")
	build.Env = append(os.Environ(), "CGO_ENABLED=0") // without a C library, which the guest does not have
	if out, err := build.CombinedOutput(); err != nil {
		tb.Fatalf("go build: %v\n%s", err, out)
	}
	text, err := json.Marshal(s)
	if err != nil {
		tb.Fatal(err)
	}
	var a archive
	for _, directory := range []string{"bin", "proc", "sys", "dev", "data", "modules"} {
		a.add(directory, 0o040755, nil)
	}
	a.add("init", 0o100755, []byte(initScript))
	a.add("setup.json", 0o100644, text)
	files := map[string]string{"bin/busybox": filepath.Join(guest, "busybox"), "guest": program}
	for _, module := range modules {
		files["modules/"+module+".ko"] = filepath.Join(guest, module+".ko")
	}
	for name, source := range files {
		content, err := os.ReadFile(source)
		if err != nil {
			tb.Fatal(err)
		}
		a.add(name, 0o100755, content)
	}
	a.add("TRAILER!!!", 0, nil)
	if err := os.WriteFile(path, a.Bytes(), 0o644); err != nil {
		tb.Fatal(err)
	}
}

// archive is an archive in the format newc of cpio.
type archive struct{ bytes.Buffer }

// add appends a file. Each file has another inode number.
func (a *archive) add(name string, mode int, content []byte) {
	fmt.Fprintf(a, "070701%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X", a.Len()+1, mode, 0, 0, 1, 0, len(content), 0, 0, 0, 0, len(name)+1, 0)
	a.WriteString(name + "\x00")
	a.pad()
	a.Write(content)
	a.pad()
}

// pad appends zero bytes up to a multiple of four.
func (a *archive) pad() { a.Write(make([]byte, -a.Len()&3)) }
