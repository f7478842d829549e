package cli

import (
	"context"
	"io"
)

// stdin returns standard input for commands that wait for it: a Read ends when the context does, so that Ctrl-C ends the command.
func (a *App) stdin() io.Reader { return interruptible{a.Context, a.Stdin} }

// An interruptible is a reader whose Read returns the cause of the end of ctx when ctx ends. After that the reader must not be used:
// a Read of in may still be waiting, and what it reads is lost.
type interruptible struct {
	ctx context.Context
	in  io.Reader
}

// Read implements io.Reader.
func (r interruptible) Read(p []byte) (int, error) {
	type result struct {
		n   int
		err error
	}
	own := make([]byte, len(p))  // p belongs to the caller again when Read has returned
	done := make(chan result, 1) // so that the goroutine can end
	go func() {
		n, err := r.in.Read(own)
		done <- result{n, err}
	}()
	select {
	case got := <-done:
		return copy(p, own[:got.n]), got.err
	case <-r.ctx.Done():
		return 0, context.Cause(r.ctx)
	}
}
