package cli

import (
	"github.com/alecthomas/kong"
)

// commands is the command line.
type commands struct {
	Verbose bool `short:"v" help:"Log more to standard error."`

	Next nextCommand `cmd:"" help:"Generate UIDs."`
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
