package cli

import (
	"bytes"
	"context"
	"io"
	"strings"

	"github.com/ringuid/ringuid/cmd/ringuid/internal/await"
	"github.com/ringuid/ringuid/cmd/ringuid/internal/connect"
)

// stdin returns standard input for commands that wait for it: a Read ends when the context does, so that Ctrl-C ends the command.
func (a *App) stdin() io.Reader { return interruptibleReader{a.Context, a.Stdin} }

// An interruptibleReader is a reader whose Read returns the cause of the end of ctx when ctx ends. After that the reader must not be
// used: a Read of in may still be waiting, and what it reads is lost.
type interruptibleReader struct {
	ctx context.Context
	in  io.Reader
}

// Read implements io.Reader.
func (r interruptibleReader) Read(p []byte) (int, error) {
	own := make([]byte, len(p)) // p belongs to the caller again when Read has returned
	n, err := await.Call(r.ctx, func() (int, error) { return r.in.Read(own) })
	return copy(p, own[:n]), err
}

// stdout returns standard output for what commands print: a Write ends when the context does, so that Ctrl-C ends a command whose
// output nobody reads.
func (a *App) stdout() io.Writer { return interruptibleWriter{a.Context, a.Stdout} }

// An interruptibleWriter is a writer whose Write returns the cause of the end of ctx when ctx ends. After that the writer must not be
// used: a Write of out may still be waiting.
type interruptibleWriter struct {
	ctx context.Context
	out io.Writer
}

// Write implements io.Writer.
func (w interruptibleWriter) Write(p []byte) (int, error) {
	if w.ctx.Err() != nil {
		return 0, context.Cause(w.ctx)
	}
	own := bytes.Clone(p) // p belongs to the caller again when Write has returned
	return await.Call(w.ctx, func() (int, error) { return w.out.Write(own) })
}

// A recordingWriter remembers its first error: the parser of the command line returns it as an error of the command line.
type recordingWriter struct {
	io.Writer
	err error
}

// Write implements io.Writer.
func (w *recordingWriter) Write(p []byte) (int, error) {
	n, err := w.Writer.Write(p)
	if w.err == nil {
		w.err = err
	}
	return n, err
}

// A plainWriter is a writer of log records, which it writes in words of the command.
type plainWriter struct{ io.Writer }

// Write implements io.Writer.
func (w plainWriter) Write(p []byte) (int, error) {
	if _, err := io.WriteString(w.Writer, connect.Plain(string(p))); err != nil {
		return 0, err
	}
	return len(p), nil
}

// oneLine returns the text of an error without line breaks, such as those of a driver that has tried several hosts.
func oneLine(text string) string {
	var b strings.Builder
	for line := range strings.Lines(strings.TrimSpace(text)) {
		switch before := b.String(); {
		case before == "":
		case strings.HasSuffix(before, ":"):
			b.WriteByte(' ')
		default:
			b.WriteString("; ")
		}
		b.WriteString(strings.TrimSpace(line))
	}
	return b.String()
}
