//go:build !windows

package lockedfile

import "os"

// systemMachineID returns the identifier of this installation of Linux or BSD; "" if it is not known.
func systemMachineID() string {
	for _, name := range []string{"/etc/machine-id", "/var/lib/dbus/machine-id", "/etc/hostid"} {
		if text, err := os.ReadFile(name); err == nil && len(text) > 0 {
			return string(text)
		}
	}
	return ""
}
