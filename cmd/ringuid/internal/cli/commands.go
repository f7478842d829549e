package cli

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
	kongcompletion "github.com/jotaen/kong-completion"

	"github.com/ringuid/ringuid/cmd/ringuid/internal/server"
	"github.com/ringuid/ringuid/settings"
)

// commands is the command line.
type commands struct {
	Verbose bool   `short:"v" help:"Log more to standard error."`
	Color   string `default:"auto" enum:"auto,always,never" help:"Colors: auto (in terminals, unless NO_COLOR is set), always or never. Default: auto."`

	Version kong.VersionFlag `help:"Print the version."`

	Next       nextCommand       `cmd:"" help:"Generate UIDs."`
	Serve      serveCommand      `cmd:"" help:"Serve UIDs over HTTP."`
	Parse      parseCommand      `cmd:"" help:"Take UIDs apart."`
	Plan       planCommand       `cmd:"" help:"Say what a layout carries, or which layouts carry a fleet."`
	Move       moveCommand       `cmd:"" help:"Check a change of the format of a live fleet."`
	Schema     schemaCommand     `cmd:"" help:"Print the SQL script that creates the tables."`
	SQL        sqlCommand        `cmd:"" name:"sql" help:"Print SQL that takes UIDs apart."`
	Doctor     doctorCommand     `cmd:"" help:"Examine the store that assigns worker IDs."`
	Bench      benchCommand      `cmd:"" help:"Measure on this machine what a UID costs."`
	WorkerFile workerFileCommand `cmd:"" help:"Show or raise the counter of a worker file."`
	Pool       poolCommand       `cmd:"" help:"Create or show the pool of recycled worker IDs, or end all its leases."`
	Tag        tagCommand        `cmd:"" help:"Create a tag of segments."`

	Completion completionCommand `cmd:"" help:"Print how to complete commands in bash, zsh and fish."`
}

// completionCommand is the command of the library with another help.
type completionCommand struct {
	kongcompletion.Completion `embed:""`
}

// Help implements kong.HelpProvider.
func (*completionCommand) Help() string {
	return `
Prints a command that lets the shell complete the names of subcommands and flags, until the shell ends. To keep it, write that command to the
file that the shell reads when it starts. Without a shell, it is your login shell.

Examples:

  ringuid completion bash
  source <(ringuid completion -c bash)
`
}

// newCommands returns the commands, with the flags that are derived from tables.
func newCommands() *commands {
	c := new(commands)
	c.Serve.Plugins = kong.Plugins{flagStruct("", server.Flags()), flagStruct(`group:"generator"`, generatorFlags())}
	return c
}

// options returns the options of the parser.
func (a *App) options(stdout io.Writer) []kong.Option {
	return append(mappers(),
		kong.Name("ringuid"),
		kong.Description("Generates and reads unique 64-bit IDs, plans and checks their formats, and checks the stores that assign worker IDs."),
		kong.Writers(stdout, a.Stderr),
		kong.Exit(func(status int) { panic(errExit(status)) }),
		kong.UsageOnError(),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, WrapUpperBound: 100}),
		kong.Vars{"forms": formNames(), "version": "ringuid " + version()},
		kong.Groups{"generator": "The generator, and the worker IDs that it takes from the store:"},
		kong.Resolvers(kong.ResolverFunc(a.resolve)),
	)
}

// checkEnviron finds misspelt variables, if the command reads variables: with another layout than the one that was meant, it
// would generate the UIDs of other services, or read UIDs wrongly. The server checks them together with its other settings.
func (a *App) checkEnviron(parsed *kong.Context) error {
	reads := slices.ContainsFunc(parsed.Selected().Flags, func(f *kong.Flag) bool { return f.Tag.Get("fromenv") != "" })
	var all *settings.Error
	if _, isServe := parsed.Selected().Target.Addr().Interface().(*serveCommand); isServe || !reads ||
		!errors.As(settings.CheckEnviron(settings.Prefix, a.Environ, server.Variables()...), &all) {
		return nil
	}
	var texts []string
	for _, fault := range all.Faults {
		texts = append(texts, fmt.Sprintf("the environment variable %s is not known; %s", fault.Name, server.Advice(fault)))
	}
	return usageErrorf("%s", strings.Join(texts, "\n"))
}

// resolve returns the value of a flag from the environment: that of the variable which its tag fromenv names.
func (a *App) resolve(_ *kong.Context, _ *kong.Path, flag *kong.Flag) (any, error) {
	name := flag.Tag.Get("fromenv")
	if name == "" {
		return nil, nil
	}
	if value, ok := a.LookupEnv(name); ok && value != "" {
		a.variables["--"+flag.Name] = name
		return value, nil
	}
	return nil, nil
}
