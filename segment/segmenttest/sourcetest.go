package segmenttest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ringuid/ringuid/segment"
)

// callTimeout bounds a call of a store that works.
const callTimeout = 2 * time.Minute

// afterContext is how long after the end of its context a call may return, also on a busy machine.
const afterContext = 20 * time.Second

// sourceTest is one test of a source.
type sourceTest struct {
	testing.TB
	h      Harness
	name   string          // of the store
	source segment.Creator // the first client
}

// open returns a new client of the store.
func (t *sourceTest) open() segment.Creator {
	t.Helper()
	s := t.h.New(t.TB, t.name)
	if s == nil {
		t.Fatalf("Harness.New returned nil")
	}
	return s
}

// clients returns n clients of the store.
func (t *sourceTest) clients(n int) []segment.Creator {
	t.Helper()
	all := []segment.Creator{t.source}
	for len(all) < n {
		all = append(all, t.open())
	}
	return all
}

// call calls Take, and checks what it returns. It may be called by any goroutine, and does not end it.
func (t *sourceTest) call(ctx context.Context, s segment.Source, r segment.Request) (segment.Range, error) {
	t.Helper()
	got, err := s.Take(ctx, r)
	if err != nil {
		t.noSecrets("the error", err.Error())
		return segment.Range{}, err
	}
	t.checkRange(r, got)
	return got, nil
}

// take takes from a source that works.
func (t *sourceTest) take(s segment.Source, r segment.Request) segment.Range {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), callTimeout)
	defer cancel()
	got, err := t.call(ctx, s, r)
	if err != nil {
		t.Fatalf("Take(%+v): %v", r, err)
	}
	return got
}

// refused calls Take, which must return an error that wraps want.
func (t *sourceTest) refused(s segment.Source, r segment.Request, want error) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), callTimeout)
	defer cancel()
	got, err := t.call(ctx, s, r)
	if err == nil {
		t.Fatalf("Take(%+v) returned the range %+v; want an error that wraps %q", r, got, want)
	}
	if !errors.Is(err, want) {
		t.Fatalf("Take(%+v) returned the error %q; want one that wraps %q", r, err, want)
	}
	return err
}

// counter returns the next number of a tag. It changes nothing: no counter is at AtLeast.
func (t *sourceTest) counter(s segment.Source, tag string) int64 {
	t.Helper()
	return t.setBack(s, segment.Request{Tag: tag, AtLeast: math.MaxInt64}).Counter
}

// setBack calls Take, which must return a *SetBackError.
func (t *sourceTest) setBack(s segment.Source, r segment.Request) *segment.SetBackError {
	t.Helper()
	err := t.refused(s, r, segment.ErrSetBack)
	var e *segment.SetBackError
	if !errors.As(err, &e) {
		t.Fatalf("Take(%+v) returned the error %q; want a *segment.SetBackError", r, err)
	}
	if e.Tag != r.Tag || e.AtLeast != r.AtLeast || e.Counter >= r.AtLeast {
		t.Fatalf("Take(%+v) returned %#v; want the tag and AtLeast of the request, and a counter below that", r, e)
	}
	return e
}

// createErr calls CreateTag.
func (t *sourceTest) createErr(s segment.Creator, tag string, c segment.TagConfig) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), callTimeout)
	defer cancel()
	err := s.CreateTag(ctx, tag, c)
	if err != nil {
		t.noSecrets("the error", err.Error())
	}
	return err
}

// create creates a tag.
func (t *sourceTest) create(tag string, c segment.TagConfig) {
	t.Helper()
	if err := t.createErr(t.source, tag, c); err != nil {
		t.Fatalf("CreateTag(%q, %+v): %v", tag, c, err)
	}
}

// noSecrets checks a text that the source has made.
func (t *sourceTest) noSecrets(what, text string) {
	t.Helper()
	for _, secret := range t.h.Secrets {
		if secret != "" && strings.Contains(text, secret) {
			t.Errorf("%s of the source contains a secret: %q", what, strings.ReplaceAll(text, secret, "<secret>"))
		}
	}
}

// inTime calls f, which gets a context that ends after d, and fails the test if f has not returned soon after
// that.
func (t *sourceTest) inTime(what string, d time.Duration, f func(ctx context.Context)) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	done := make(chan struct{})
	go func() {
		defer close(done)
		f(ctx)
	}()
	select {
	case <-done:
	case <-time.After(d + afterContext):
		t.Fatalf("%s has not returned %v after its context ended", what, afterContext)
	}
}

// recovered takes until the store works again after a fault.
func (t *sourceTest) recovered(s segment.Source, r segment.Request) segment.Range {
	t.Helper()
	var got segment.Range
	t.retry(fmt.Sprintf("Take(%+v) after the end of a fault", r), func() (err error) {
		ctx, cancel := context.WithTimeout(context.Background(), callTimeout)
		defer cancel()
		got, err = t.call(ctx, s, r)
		return err
	})
	return got
}

// retry calls f until it returns nil. It fails the test if that takes longer than Recovery.
func (t *sourceTest) retry(what string, f func() error) {
	t.Helper()
	for deadline := time.Now().Add(t.h.Recovery); ; time.Sleep(5 * time.Millisecond) {
		err := f()
		if err == nil {
			return
		}
		if t.Failed() {
			t.FailNow()
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s: still fails after %v: %v", what, t.h.Recovery, err)
		}
	}
}

// checkFault checks the error of a Take or CreateTag that met a fault: it must not be one that says something
// about the tag.
func (t *sourceTest) checkFault(err error) {
	t.Helper()
	for _, wrong := range []error{segment.ErrNoTag, segment.ErrSetBack, segment.ErrExhausted, segment.ErrTag, segment.ErrOption, segment.ErrSource} {
		if errors.Is(err, wrong) {
			t.Errorf("a call that met a fault returned the error %q, which wraps %q although the tag is as it must be", err, wrong)
		}
	}
}

// concurrently calls f once for each of n goroutines, at the same time, and waits until all have returned. f
// must not end its goroutine by t.Fatal.
func concurrently(n int, f func(n int)) {
	start := make(chan struct{})
	var running sync.WaitGroup
	for i := range n {
		running.Go(func() {
			<-start
			f(i)
		})
	}
	close(start)
	running.Wait()
}
