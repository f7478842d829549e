// Package cli is the command line of ringuid. Run executes one command line.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"regexp"
	"strings"
	"syscall"
	"time"

	"github.com/alecthomas/kong"
	kongcompletion "github.com/jotaen/kong-completion"

	"github.com/ringuid/ringuid/cmd/ringuid/internal/connect"
)

// The exit statuses. doc/command.md lists them.
const (
	exitOK          = 0
	exitFailed      = 1   // the command failed; it has printed no ID
	exitUsage       = 2   // the command line is wrong
	exitFound       = 3   // the command has worked, and found a fault: a move that is not safe, a store that is not
	exitInterrupted = 130 // by SIGINT or SIGTERM
)

// App is what a subcommand uses of its process.
type App struct {
	Context        context.Context // ends with SIGINT and SIGTERM
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	LookupEnv      func(string) (string, bool)
	Environ        []string     // all variables, as os.Environ returns them, to find misspelt ones
	Logger         *slog.Logger // writes to Stderr

	now   func() time.Time // for tests; nil: time.Now
	asks  *bool            // for tests; nil: whether there is a terminal
	color string           // of --color

	command   string            // the name of the program and of the subcommand, for errors
	variables map[string]string // the environment variables that have set flags, by the names of these, such as --layout
}

// Now returns the time of this host's clock.
func (a *App) Now() time.Time {
	if a.now != nil {
		return a.now()
	}
	return time.Now()
}

// Run executes a command line, without the name of the program, and returns the exit status. It blocks until the command
// has ended, or until ctx ends or the process receives SIGINT or SIGTERM. lookupEnv is os.LookupEnv, and environ what os.Environ
// returns.
func Run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer, lookupEnv func(string) (string, bool), environ []string) int {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	defer context.AfterFunc(ctx, stop)() // a second signal ends the process at once
	a := &App{Context: ctx, Stdin: stdin, Stdout: stdout, Stderr: stderr, LookupEnv: lookupEnv, Environ: environ}
	return a.execute(args)
}

// execute executes a command line, and returns the exit status.
func (a *App) execute(args []string) int { return a.exitStatus(a.run(args)) }

// errExit ends a command that has printed all that there is to print, such as --help.
type errExit int

func (errExit) Error() string { return "exit" }

// run parses a command line and executes it.
func (a *App) run(args []string) (err error) {
	c := newCommands()
	stdout := &recordingWriter{Writer: a.stdout()}
	parser, err := kong.New(c, a.options(stdout)...)
	if err != nil {
		return fmt.Errorf("bug: the command line is wrong: %w", err)
	}
	a.command = "ringuid"
	a.variables = map[string]string{}
	defer func() {
		switch r := recover().(type) {
		case nil:
		case errExit: // of kong.Exit
			if err = r; stdout.err != nil {
				err = stdout.err
			}
		default:
			panic(r)
		}
	}()
	kongcompletion.Register(parser) // answers a shell that asks for completions, and exits
	if len(args) == 0 {
		return a.noCommand(parser)
	}
	parsed, err := parser.Parse(args)
	if stdout.err != nil { // a help that could not be written
		return stdout.err
	}
	if err != nil {
		var wrong *kong.ParseError
		if errors.As(err, &wrong) {
			a.setCommand(wrong.Context)
		}
		return usageError{explain(err, a.command)}
	}
	a.setCommand(parsed)
	level := slog.LevelWarn
	if c.Verbose {
		level = slog.LevelDebug
	}
	a.color = c.Color
	a.Logger = slog.New(slog.NewTextHandler(plainWriter{a.Stderr}, &slog.HandlerOptions{Level: level}))
	if err := a.checkEnviron(parsed); err != nil {
		return err
	}
	if err := parsed.Run(a); err != nil {
		return err
	}
	return stdout.err
}

// setCommand sets the name of the command for errors.
func (a *App) setCommand(parsed *kong.Context) {
	if parsed == nil || parsed.Selected() == nil {
		return
	}
	a.command = parsed.Selected().Name
	for n := parsed.Selected().Parent; n != nil; n = n.Parent {
		a.command = n.Name + " " + a.command
	}
}

// noCommand prints the help, as an error.
func (a *App) noCommand(parser *kong.Kong) error {
	parser.Stdout = a.Stderr
	context, err := kong.Trace(parser, nil)
	if err == nil {
		err = context.PrintUsage(false)
	}
	if err != nil {
		return err
	}
	fmt.Fprintln(a.Stderr)
	return usageErrorf("a subcommand is missing, such as: ringuid next")
}

// The texts of the parser that explain replaces.
var (
	missingArgument = regexp.MustCompile(`^expected (one of )?"(.*)"$`)
	negativeNumber  = regexp.MustCompile(`^unknown flag (-[0-9][^,]*)`)
)

// explain says in other words what is wrong in the command line of a command.
func explain(err error, command string) error {
	const unexpected = "unexpected argument "
	text := err.Error()
	if m := missingArgument.FindStringSubmatch(text); m != nil && m[1] != "" {
		return fmt.Errorf("a subcommand is missing: %s", strings.ReplaceAll(m[2], `", "`, " or "))
	} else if m != nil {
		return fmt.Errorf("missing: %s", m[2])
	}
	if m := negativeNumber.FindStringSubmatch(text); m != nil {
		return fmt.Errorf("%s is not a flag; write -- before a value that begins with -, as in: %s -- %s", m[1], strings.TrimPrefix(command, "ringuid "), m[1])
	}
	if before, argument, ok := strings.Cut(text, unexpected); ok {
		return errors.New(before + unexpected + connect.Redact(argument)) // it may be the address of a store
	}
	return errors.New(strings.Replace(text, ": is ", " is ", 1)) // of a mapper
}

// A usageError is an error of the command line.
type usageError struct{ err error }

func (e usageError) Error() string { return e.err.Error() }
func (e usageError) Unwrap() error { return e.err }

// usageErrorf returns an error of the command line.
func usageErrorf(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// A shutdownError is the error of a server that was told to end, and has failed in that.
type shutdownError struct{ err error }

func (e shutdownError) Error() string { return e.err.Error() }
func (e shutdownError) Unwrap() error { return e.err }

// errFound ends a command that has worked, and has printed what it found.
var errFound = errors.New("found")

// exitStatus prints an error, and returns the exit status that belongs to it.
func (a *App) exitStatus(err error) int {
	var exit errExit
	var usage usageError
	var shutdown shutdownError
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &exit):
		return int(exit)
	case errors.Is(err, errFound):
		return exitFound
	case errors.As(err, &usage):
		fmt.Fprintf(a.Stderr, "ringuid: %s\nSee %s --help.\n", a.named(connect.Plain(err.Error())), a.command)
		return exitUsage
	case a.Context.Err() != nil && !errors.As(err, &shutdown):
		text := "interrupted"
		if err != context.Canceled && err != context.Cause(a.Context) {
			text += ": " + oneLine(connect.Plain(err.Error())) // perhaps a part was done
		}
		fmt.Fprintf(a.Stderr, "ringuid: %s\n", text)
		return exitInterrupted
	}
	fmt.Fprintf(a.Stderr, "ringuid: %s\n", oneLine(connect.Plain(err.Error())))
	return exitFailed
}
