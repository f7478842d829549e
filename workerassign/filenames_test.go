package workerassign

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/ringuid/ringuid/internal/lockedfile"
	"github.com/ringuid/ringuid/internal/testkit"
)

// Rule R7 for files: a file or a lock file with two names (hard links) is refused under both, because each name
// would continue from one content.
func TestR7FileWithTwoNames(t *testing.T) {
	uses := map[string]func(path string) error{
		"NewFile": func(path string) error {
			_, err := NewFile(path).Assign(context.Background(), Request{})
			return err
		},
		"StaticFile": func(path string) error {
			l, err := newTestStaticFile(path, "m").Assign(context.Background(), clockAt(start))
			if err == nil {
				endProcess(l)
			}
			return err
		},
	}
	for name, use := range uses {
		for linked, suffixes := range map[string][]string{"file": {""}, "lock file": {".lock"}, "both": {"", ".lock"}} {
			t.Run(name+", "+linked, func(t *testing.T) {
				path := filepath.Join(t.TempDir(), "a")
				other := filepath.Join(t.TempDir(), "b")
				if err := use(path); err != nil {
					t.Fatal(err)
				}
				for _, suffix := range suffixes {
					if err := os.Link(path+suffix, other+suffix); err != nil {
						testkit.Missing(t, "the file system has no hard links: ", err)
					}
				}
				for _, p := range []string{path, other} {
					err := use(p)
					if !errors.Is(err, lockedfile.ErrNames) || !errors.Is(err, ErrFile) {
						t.Errorf("%s: %v; want ErrFile because of its two names", p, err)
					}
				}
				for _, suffix := range suffixes {
					if err := os.Remove(other + suffix); err != nil {
						t.Fatal(err)
					}
				}
				if err := use(path); err != nil {
					t.Errorf("after the other names were removed: %v", err)
				}
			})
		}
	}
}
