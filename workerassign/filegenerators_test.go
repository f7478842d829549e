package workerassign_test

import (
	"context"
	"io"
	"path/filepath"
	"testing"
	"time"

	"github.com/ringuid/ringuid/internal/testkit"
	"github.com/ringuid/ringuid/uid"
	"github.com/ringuid/ringuid/workerassign"
)

// Generators that are started and closed again and again on an assigner with a file never generate a UID twice, and need
// not wait long after a Close.
func TestInvariant1GeneratorsOnFiles(t *testing.T) {
	testkit.Slow(t, "it takes some seconds")
	borrow := uid.WithMaxBorrow(20 * time.Second)
	for name, newAssigner := range map[string]func(directory string) workerassign.Assigner{
		"static": func(directory string) workerassign.Assigner {
			return workerassign.StaticFile(3, filepath.Join(directory, "static"), workerassign.WithNewFile(), discardLog())
		},
		"slots": func(directory string) workerassign.Assigner {
			return workerassign.NewRecycled(workerassign.NewSlotFile(filepath.Join(directory, "slots"), discardLog()), discardLog())
		},
		"saved": func(directory string) workerassign.Assigner {
			r := workerassign.NewRecycled(workerassign.NewSlotFile(filepath.Join(directory, "slots"), discardLog()), workerassign.WithHorizon(24*time.Hour), discardLog())
			return workerassign.Saved(r, filepath.Join(directory, "saved"), discardLog())
		},
	} {
		t.Run(name, func(t *testing.T) {
			directory, seen := t.TempDir(), map[uid.ID]bool{}
			for round := range 4 {
				ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
				defer cancel()
				var g interface {
					NextContext(context.Context) (uid.ID, error)
					io.Closer
				}
				var err error
				begin := time.Now()
				if round == 0 {
					g, err = uid.NewDefault(ctx, newAssigner(directory), borrow)
				} else {
					g, err = uid.NewCached(ctx, newAssigner(directory), borrow)
				}
				if err != nil {
					t.Fatal(err)
				}
				for range 20_000 {
					id, err := g.NextContext(ctx)
					if err != nil {
						t.Fatal(err)
					}
					if seen[id] {
						t.Fatalf("UID %v was generated twice", id)
					}
					seen[id] = true
				}
				if err := g.Close(); err != nil {
					t.Fatal(err)
				}
				t.Logf("round %d took %v", round, time.Since(begin))
			}
		})
	}
}
