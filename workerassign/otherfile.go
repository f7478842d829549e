package workerassign

import (
	"bytes"
	"errors"
)

// otherFile returns the error for the content of a file that another part of the library has written, or nil. What is to be done about
// a damaged file would be wrong for it: a slot file that is overwritten, or a worker file that is deleted, loses which worker IDs are used.
func otherFile(data []byte, ownHeader string) error {
	for _, other := range []struct{ header, what string }{
		{workerHeader, "a worker file, of disposable worker IDs (NewFile)"},
		{slotFileHeader, "a slot file, of recycled worker IDs (NewSlotFile)"},
		{staticHeader, "a file of static worker IDs (StaticFile)"},
		{savedHeader, "a file of saved leases (Saved)"},
		{"ringuid-segments v1", "a file of segments"}, // of package segment
	} {
		if other.header != ownHeader && bytes.HasPrefix(data, []byte(other.header+" ")) {
			return errors.New("it is " + other.what + "; use another path, or what has written it; do not change or delete it")
		}
	}
	return nil
}
