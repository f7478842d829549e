package filestore

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/ringuid/ringuid/internal/lockedfile"
	"github.com/ringuid/ringuid/internal/testkit"
	"github.com/ringuid/ringuid/workerassign"
	"github.com/ringuid/ringuid/workerassign/recycled"
)

// Rule R7 for files: a file with two names (hard links) is refused under both, because each name would continue from one content.
func TestR7FileWithTwoNames(t *testing.T) {
	for _, suffix := range []string{"", lockedfile.Suffix} {
		path := filepath.Join(t.TempDir(), "a")
		other := filepath.Join(t.TempDir(), "b")
		use := func(path string) error {
			_, err := New(path).Read(t.Context(), recycled.Query{All: true})
			return err
		}
		if err := use(path); err != nil {
			t.Fatal(err)
		}
		if err := os.Link(path+suffix, other+suffix); err != nil {
			testkit.Missing(t, "the file system has no hard links: ", err)
		}
		for _, p := range []string{path, other} {
			if err := use(p); !errors.Is(err, lockedfile.ErrNames) || !errors.Is(err, workerassign.ErrFile) || !errors.Is(err, workerassign.ErrPermanent) {
				t.Errorf("%s: %v; want ErrFile and ErrPermanent because of its two names", p, err)
			}
		}
		if err := os.Remove(other + suffix); err != nil {
			t.Fatal(err)
		}
		if err := use(path); err != nil {
			t.Errorf("after the other name was removed: %v", err)
		}
	}
}
