package cli

import (
	"github.com/alecthomas/kong"
	kongcompletion "github.com/jotaen/kong-completion"
)

// commands is the command line.
type commands struct {
	Verbose bool   `short:"v" help:"Log more to standard error."`
	Color   string `default:"auto" enum:"auto,always,never" help:"Colors: auto (in terminals, unless NO_COLOR is set), always or never. Default: auto."`

	Next       nextCommand       `cmd:"" help:"Generate UIDs."`
	Serve      serveCommand      `cmd:"" help:"Serve UIDs over HTTP."`
	Parse      parseCommand      `cmd:"" help:"Take UIDs apart."`
	Plan       planCommand       `cmd:"" help:"Say what a layout carries, or which layouts carry a fleet."`
	Move       moveCommand       `cmd:"" help:"Check a change of the format of a live fleet."`
	Schema     schemaCommand     `cmd:"" help:"Print the SQL script that creates the tables."`
	Doctor     doctorCommand     `cmd:"" help:"Examine the store that assigns worker IDs."`
	Bench      benchCommand      `cmd:"" help:"Measure on this machine what a UID costs."`
	WorkerFile workerFileCommand `cmd:"" help:"Show or raise the counter of a worker file."`

	Completion kongcompletion.Completion `cmd:"" help:"Print how to complete commands in bash, zsh and fish."`
}

// options returns the options of the parser.
func (a *App) options() []kong.Option {
	return []kong.Option{
		kong.Name("ringuid"),
		kong.Description("Generates and reads unique 64-bit IDs, plans and checks their formats, and checks the stores that assign worker IDs."),
		kong.Writers(a.Stdout, a.Stderr),
		kong.Exit(func(status int) { panic(errExit(status)) }),
		kong.UsageOnError(),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, WrapUpperBound: 100}),
		kong.Vars{"forms": formNames()},
		kong.Resolvers(kong.ResolverFunc(a.resolve)),
	}
}

// resolve returns the value of a flag from the environment: that of the variable which its tag fromenv names.
func (a *App) resolve(_ *kong.Context, _ *kong.Path, flag *kong.Flag) (any, error) {
	name := flag.Tag.Get("fromenv")
	if name == "" {
		return nil, nil
	}
	if value, ok := a.LookupEnv(name); ok && value != "" {
		return value, nil
	}
	return nil, nil
}
