package segment

import (
	"context"
	"errors"
	"testing"
	"time"
)

func TestErrorTexts(t *testing.T) {
	since := time.Date(2026, 11, 22, 10, 0, 0, 0, time.UTC)
	for _, test := range []struct {
		err  error
		want string
		is   []error
	}{
		{&SetBackError{Tag: "a", Counter: 5, AtLeast: 7}, `segment: the counter of tag "a" was set back: it is 5, and numbers below 7 were handed out already: ` +
			`raise it to more than any number that was handed out`, []error{ErrSetBack}},
		{&EmptyError{Tag: "a", Source: "db"}, `segment: tag "a" has no number at present: db has not returned the next range yet`, []error{ErrEmpty}},
		{&EmptyError{Tag: "a", Source: "db", Since: since, Tries: 3, Cause: errDown, Wait: context.Canceled},
			`segment: tag "a" has no number at present: db has failed since 2026-11-22T10:00:00Z (3 tries): connection refused (context canceled)`,
			[]error{ErrEmpty, errDown, context.Canceled}},
	} {
		if test.err.Error() != test.want {
			t.Errorf("%s, want %s", test.err, test.want)
		}
		for _, target := range test.is {
			if !errors.Is(test.err, target) {
				t.Errorf("errors.Is does not find %v in %v", target, test.err)
			}
		}
		if errors.Is(test.err, ErrClosed) {
			t.Errorf("errors.Is finds ErrClosed in %v", test.err)
		}
	}
}

// With several sources, waiting is hopeless only if it is so for all of them.
func TestHopelessTry(t *testing.T) {
	hopeless, curable := &sourceError{"a", "b", ErrSetBack}, &sourceError{"a", "b", errDown}
	for _, test := range []struct {
		err  error
		want bool
	}{
		{hopeless, true}, {curable, false}, {errors.Join(hopeless, curable), false}, {errors.Join(curable, hopeless), false},
		{errors.Join(hopeless, hopeless), true}, {ErrOption, true}, {errDown, false},
		{&sourceError{"a", "b", errors.Join(ErrNoTag, errDown)}, true},
	} {
		if got := hopelessTry(test.err); got != test.want {
			t.Errorf("%v: %v, want %v", test.err, got, test.want)
		}
	}
}
