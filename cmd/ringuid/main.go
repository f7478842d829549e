// Command ringuid generates and reads UIDs, plans and checks formats, and checks the stores that assign worker IDs.
//
//	ringuid --help
//
// doc/command.md describes its subcommands, the URLs of stores, and its exit statuses.
package main

import (
	"context"
	"os"

	goredis "github.com/redis/go-redis/v9"

	"github.com/ringuid/ringuid/cmd/ringuid/internal/cli"
)

// discard discards what the client of Redis logs. It has one logger for the whole process. Its errors are returned too.
type discard struct{}

func (discard) Printf(context.Context, string, ...any) {}

func main() {
	goredis.SetLogger(discard{})
	os.Exit(cli.Run(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr, os.LookupEnv, os.Environ()))
}
