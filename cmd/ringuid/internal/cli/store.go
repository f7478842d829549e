package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/ringuid/ringuid/cmd/ringuid/internal/connect"
)

// storeFlags are the flags of commands that use a store.
type storeFlags struct {
	Store string `placeholder:"URL" fromenv:"RINGUID_STORE" help:"The store of worker IDs: a path, a URL or a data source name. Default: the environment variable RINGUID_STORE, else a file of yours."`

	Assigner string `enum:",disposable,recycled,static" default:"" fromenv:"RINGUID_ASSIGNER" help:"What the store assigns: disposable or recycled worker IDs. Default: RINGUID_ASSIGNER, else what the parameter assign of the store says, else recycled where there are no disposable ones."`
}

// stateFile is the path of the default store, below the directory of the user's state.
const stateFile = "ringuid/workers"

// open opens the store, and ends when ctx does.
func (f storeFlags) open(ctx context.Context, a *App) (*connect.Store, error) {
	location := f.Store
	opts := connect.Options{Logger: a.Logger}
	if f.Assigner == "static" {
		return nil, usageErrorf("--assigner is static: a static worker ID belongs to a process, and this command has none; must be disposable or recycled")
	}
	if location == "" {
		if f.Assigner != "" {
			// Services whose program opens the store have such an environment. The default store would generate their UIDs again.
			return nil, usageErrorf("--assigner is %s, and there is no store: set --store, or RINGUID_STORE, to that of the services; or clear RINGUID_ASSIGNER for the default store", f.Assigner)
		}
		path, err := a.defaultStore()
		if err != nil {
			return nil, err
		}
		location, opts.Assign = path, connect.Recycled
	} else {
		opts.Assign = connect.Assign(f.Assigner)
	}
	store, err := connect.Open(ctx, location, opts)
	if errors.Is(err, connect.ErrURL) {
		return nil, usageError{err}
	}
	return store, err
}

// defaultStore returns the path of the default store, and creates its directory.
func (a *App) defaultStore() (string, error) {
	directory, ok := a.LookupEnv("XDG_STATE_HOME")
	if !ok || !filepath.IsAbs(directory) { // as the specification of these directories says
		home, err := a.home()
		if err != nil {
			return "", err
		}
		directory = filepath.Join(home, ".local", "state")
	}
	path := filepath.Join(directory, filepath.FromSlash(stateFile))
	return path, a.makeDirectory(filepath.Dir(path))
}

// home returns the user's home directory.
func (a *App) home() (string, error) {
	for _, name := range []string{"HOME", "USERPROFILE"} {
		if home, ok := a.LookupEnv(name); ok && filepath.IsAbs(home) {
			return home, nil
		}
	}
	return "", usageErrorf("neither XDG_STATE_HOME nor HOME is set: name the store by --store")
}

// makeDirectory creates a directory for the user only.
func (a *App) makeDirectory(path string) error {
	if err := os.MkdirAll(path, 0o700); err != nil {
		return fmt.Errorf("cannot create the directory of the default store: %w; name another store by --store", err)
	}
	return nil
}
