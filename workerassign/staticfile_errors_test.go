package workerassign_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/ringuid/ringuid/internal/testkit/leasetest"
	"github.com/ringuid/ringuid/workerassign"
)

// The errors of StaticFile name the file and both worker IDs.
func TestStaticFileErrorTexts(t *testing.T) {
	path := filepath.Join(t.TempDir(), "static")
	l, err := workerassign.StaticFile(5, path, workerassign.WithNewFile()).Assign(t.Context(), workerassign.Request{})
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Release(t.Context(), time.Now()); err != nil {
		t.Fatal(err)
	}
	_, err = workerassign.StaticFile(6, path).Assign(t.Context(), workerassign.Request{})
	leasetest.WantError(t, "another worker ID", err, workerassign.ErrOption, path+" belongs to worker ID 5, and this assigner's is 6; use a file of its own for each worker ID")
	_, err = l.Reserve(t.Context(), time.Now())
	leasetest.WantError(t, "released", err, workerassign.ErrReleased, "workerassign: lease was released: static worker ID 5 may be in use by another generator")
}
