package cli

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
)

// waiting shows on standard error, if that is a terminal, for how long the command has been waiting, from the first second on. The
// function that it returns removes the text; it may be called several times.
func (a *App) waiting(what string) (done func()) {
	if !isTerminal(a.Stderr) {
		return func() {}
	}
	return showWaiting(a.Stderr, what)
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
