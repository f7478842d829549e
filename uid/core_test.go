package uid

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/ringuid/ringuid/internal/testkit"
	"github.com/ringuid/ringuid/internal/testkit/leaktest"
	"github.com/ringuid/ringuid/workerassign"
)

// D15: the original's worker IDs end without a warning. Here each start with one of the last tenth logs
// a warning, the last one works, and the next one is refused.
func TestD15WorkerIDsEnd(t *testing.T) {
	for _, tt := range []struct {
		id          int64
		wantWarning bool
		want        error
	}{{1, false, nil}, {921, false, nil}, {922, true, nil}, {1023, true, nil}, {1024, false, ErrWorkerID}} {
		for _, mode := range modes {
			a := new(disposableAssigner)
			a.lastID.Store(tt.id - 1)
			var log testkit.Buffer
			g, err := mode.make(context.Background(), a, WithLayout(layout(t, 31, 10, 13)), logInto(&log))
			if !errors.Is(err, tt.want) {
				t.Fatalf("%s: worker ID %d: %v, want %v", mode.name, tt.id, err, tt.want)
			}
			if err == nil {
				if p := g.Parse(next(t, g)); p.WorkerID != tt.id {
					t.Errorf("%s: %v", mode.name, p)
				}
				g.Close()
				flushLog(t, g)
			}
			if got := strings.Contains(log.String(), "less than a tenth of the worker IDs remains"); got != tt.wantWarning {
				t.Errorf("%s: worker ID %d: the log is %q", mode.name, tt.id, log.String())
			}
		}
	}
}

// Static worker IDs, and others that are not counted up, cause no warning.
func TestD15StaticWorkerIDsDoNotEnd(t *testing.T) {
	for _, mode := range modes {
		var log bytes.Buffer
		for _, a := range []workerassign.Assigner{workerassign.Static(1023), workerassign.Prefix(new(disposableAssigner), 31, 5)} {
			g, err := mode.make(context.Background(), a, WithLayout(layout(t, 31, 10, 13)), logInto(&log))
			if err != nil {
				t.Fatal(err)
			}
			g.Close()
		}
		if log.Len() > 0 {
			t.Errorf("%s: the log is %q", mode.name, log.String())
		}
	}
}

// A constructor that fails leaves neither goroutines nor file descriptors behind.
func TestFailedConstructorLeaksNothing(t *testing.T) {
	leaktest.Check(t)
	for _, mode := range modes {
		a := &recyclingAssigner{failure: errors.New("no grant")}
		for range 100 {
			if _, err := mode.make(context.Background(), a); !errors.Is(err, ErrLease) {
				t.Fatalf("%s: %v", mode.name, err)
			}
		}
	}
}
