package lockedfile

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// MachineID returns what identifies this machine, or the installation of its operating system; "" if that
// is not known, for example in a container without /etc/machine-id. It is a hash, because the identifier
// itself should not be disclosed.
func MachineID() string {
	id := strings.TrimSpace(systemMachineID())
	if id == "" || id == "uninitialized" { // systemd writes the latter into images
		return ""
	}
	sum := sha256.Sum256([]byte("ringuid " + id))
	return hex.EncodeToString(sum[:16])
}
