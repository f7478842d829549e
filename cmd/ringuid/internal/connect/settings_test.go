package connect

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/ringuid/ringuid/settings"
	"github.com/ringuid/ringuid/workerassign"
)

// The same text in RINGUID_STORE means the same file here and in the Settings of a service: each of two files would assign the
// worker IDs of the other one.
func TestFileOfSettings(t *testing.T) {
	dir := filepath.ToSlash(t.TempDir())
	for _, name := range []string{"worker", "a b", "a%20c", "50%25", "q%3Fassign=recycled", "x+y", "z#1", "a:b", "%2e%2fdot", "%", "%2", "%zz", "q?x=1", "d/", "zero%00", ""} {
		for _, prefix := range []string{"file:", "file://"} {
			text := prefix + dir + "/" + name
			path, err := ParseFile(text)
			a, settingsErr := settings.Settings{"assigner": "disposable", "store": text}.NewAssigner(settings.Backend{})
			if settingsErr != nil { // Settings refuse what has a meaning in a URL
				if !strings.ContainsAny(name, "%?#") && err == nil {
					t.Errorf("%q: %v", text, settingsErr)
				}
				continue
			}
			if err != nil {
				t.Errorf("%q: %v here, and no error in Settings", text, err)
				continue
			}
			f := workerassign.NewFile(path)
			before, err := f.Last()
			if err != nil {
				t.Error(err)
				continue
			}
			l, err := a.Assign(t.Context(), workerassign.Request{})
			if err != nil {
				t.Errorf("%q: %v", text, err)
				continue
			}
			if last, err := f.Last(); l.WorkerID() != before+1 || last != before+1 || err != nil {
				t.Errorf("%q: worker ID %d in Settings, and the last one here is %d, %v; want %d", text, l.WorkerID(), last, err, before+1)
			}
		}
	}
}
