package cli

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/ringuid/ringuid/workerassign"
)

// A firstLease passes on the first lease of a generator, unless it begins so late that the generator has no UID before the command's
// timeout. It says for how long the first UID has to be waited for.
type firstLease struct {
	workerassign.Assigner
	begin   time.Time // of the command
	timeout time.Duration
	out     io.Writer
	waiting func() // ends what is shown meanwhile

	passed bool  // whether Assign was called: further leases are for later times
	err    error // why the lease was not passed on
}

// Assign implements workerassign.Assigner. The generator calls it from one goroutine at a time, and first from the one that creates
// the generator.
func (f *firstLease) Assign(ctx context.Context, r workerassign.Request) (workerassign.Lease, error) {
	lease, err := f.Assigner.Assign(ctx, r)
	if err != nil || f.passed {
		return lease, err
	}
	f.passed = true
	// The first time unit may begin up to a unit later, and a unit is at most a second.
	wait := time.Until(lease.NotBefore())
	if wait < time.Second {
		return lease, nil
	}
	const why = "the store's worker IDs begin %v from now, because its pool is new, or its server was restarted or replaced, and what it had granted may be lost"
	const advice = "Before the first start of a fleet, \"ringuid pool create\" avoids that (doc/fleet.md)"
	rounded := wait.Round(time.Second)
	if enough := time.Since(f.begin) + wait + 2*time.Second; enough > f.timeout {
		f.err = fmt.Errorf(why+": that is later than --timeout %v allows; --timeout %v is enough. "+advice,
			rounded, f.timeout, enough.Truncate(time.Second)+time.Second)
		lease.Release(ctx, time.Time{}) // if that fails, the lease ends by itself
		return nil, f.err
	}
	f.waiting()
	fmt.Fprintf(f.out, "ringuid: waiting: "+why+". "+advice+".\n", rounded)
	f.waiting = showWaitingIn(f.out, "waiting for the first UID")
	return lease, nil
}

// waiting shows on standard error, if that is a terminal, for how long the command has been waiting, from the first second on. The
// function that it returns removes the text; it may be called several times.
func (a *App) waiting(what string) (done func()) { return showWaitingIn(a.Stderr, what) }

// showWaitingIn is waiting for a stream that may be a terminal.
func showWaitingIn(w io.Writer, what string) (done func()) {
	if !isTerminal(w) {
		return func() {}
	}
	return showWaiting(w, what)
}

// showWaiting is waiting for a terminal.
func showWaiting(w io.Writer, what string) (done func()) {
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		ticker := time.NewTicker(time.Second)
		defer ticker.Stop()
		text := ""
		for seconds := 1; ; seconds++ {
			select {
			case <-ticker.C:
				text = fmt.Sprintf("%s: %d s", what, seconds)
				fmt.Fprintf(w, "\r%s", text)
			case <-stop:
				if text != "" {
					fmt.Fprintf(w, "\r%s\r", strings.Repeat(" ", len(text)))
				}
				return
			}
		}
	}()
	return sync.OnceFunc(func() {
		close(stop)
		<-stopped
	})
}
