package percpu

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/ringuid/ringuid/uid"
)

// The methods of a nil and of a zero Generator, and of one without a Cached generator, return ErrOption
// or the error of uid, or do nothing. None of them panics, because a panic while the goroutine is
// pinned would crash the process.
func TestZeroGenerator(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for name, tt := range map[string]struct {
		g    *Generator
		want error
	}{
		"nil":              {nil, ErrOption},
		"zero":             {new(Generator), ErrOption},
		"without a Cached": {New(nil), ErrOption},
		"of a zero Cached": {New(new(uid.Cached)), uid.ErrOption},
	} {
		t.Run(name, func(t *testing.T) {
			for what, f := range map[string]func() (uid.ID, error){
				"Next":        tt.g.Next,
				"NextContext": func() (uid.ID, error) { return tt.g.NextContext(ctx) },
				"NextN":       func() (uid.ID, error) { n, err := tt.g.NextN(make([]uid.ID, 3)); return uid.ID(n), err },
				"Renew":       func() (uid.ID, error) { return 0, tt.g.Renew(ctx) },
			} {
				for range 3 {
					if id, err := f(); id != 0 || !errors.Is(err, tt.want) {
						t.Errorf("%s() = %d, %v; want %v", what, id, err, tt.want)
					}
				}
			}
			if p := tt.g.Parse(7); p != (uid.Parts{ID: 7}) {
				t.Errorf("Parse() = %v", p)
			}
			for range 2 {
				if err := tt.g.Close(); err != nil {
					t.Errorf("Close() = %v", err)
				}
			}
		})
	}
}
