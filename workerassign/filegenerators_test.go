package workerassign_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"github.com/ringuid/ringuid/internal/testkit"
	"github.com/ringuid/ringuid/stores/filestore"
	"github.com/ringuid/ringuid/uid"
	"github.com/ringuid/ringuid/workerassign"
	"github.com/ringuid/ringuid/workerassign/recycled"
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
			return recycled.New(filestore.New(filepath.Join(directory, "slots"), filestore.WithLogger(slog.New(slog.DiscardHandler))), recycled.WithLogger(slog.New(slog.DiscardHandler)))
		},
		"saved": func(directory string) workerassign.Assigner {
			r := recycled.New(filestore.New(filepath.Join(directory, "slots"), filestore.WithLogger(slog.New(slog.DiscardHandler))), recycled.WithHorizon(24*time.Hour), recycled.WithLogger(slog.New(slog.DiscardHandler)))
			return recycled.Saved(r, filepath.Join(directory, "saved"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			directory, seen := t.TempDir(), map[uid.ID]bool{}
			for round := range 4 {
				ctx := testkit.Patient(t)
				var g interface {
					NextContext(context.Context) (uid.ID, error)
					io.Closer
				}
				var err error
				begin := time.Now()
				if round == 0 {
					g, err = uid.NewDefault(ctx, newAssigner(directory))
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
				closeErr := g.Close()
				for errors.Is(closeErr, uid.ErrBusy) { // the disk is slow
					closeErr = g.Close()
				}
				if closeErr != nil && !errors.Is(closeErr, context.DeadlineExceeded) {
					t.Fatal(closeErr)
				}
				t.Logf("round %d took %v", round, time.Since(begin))
			}
		})
	}
}
