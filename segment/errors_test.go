package segment

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
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

// A group of goroutines ends with the error of one of them, which may be that of another tag. A call that waits returns the context's
// error, in which the other tag's is not found.
func TestMaskedCauseOfContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		other := &EmptyError{Tag: "other", Wait: fmt.Errorf("%w: within 3s", errNotInTime), Cause: errors.Join(ErrExhausted, ErrClosed)}
		ctx, cancel := context.WithCancelCause(t.Context())
		s := newTestSequence(t, sourceFunc(func(ctx context.Context, r Request) (Range, error) {
			if r.AtLeast > 0 {
				<-ctx.Done()
				return Range{}, ctx.Err()
			}
			return Range{First: 1, Length: 1, Stride: 1, Step: 1}, nil
		}))
		cancel(other)
		var err error
		for err == nil {
			_, err = s.NextContext(ctx)
		}
		for _, err := range []error{err, ended(ctx)} {
			empty := (*EmptyError)(nil)
			if !errors.Is(err, context.Canceled) || errors.Is(err, ErrExhausted) || errors.Is(err, ErrClosed) || errors.As(err, &empty) && empty.Tag == "other" {
				t.Errorf("the error of a call whose context has ended: %v", err)
			}
		}
	})
}
