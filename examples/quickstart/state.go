package main

import (
	"errors"
	"fmt"
	"path/filepath"
)

// stateDir returns the directory for files that programs of this user keep between runs. The
// standard library has no function for it: os.UserConfigDir is for settings, and the contents of
// os.UserCacheDir may be deleted at any time.
func stateDir(goos string, getenv func(string) string, home func() (string, error)) (string, error) {
	switch goos {
	case "windows":
		if dir := getenv("LocalAppData"); dir != "" {
			return dir, nil
		}
		return "", errors.New("%LocalAppData% is not set; choose a file with -worker-file")
	case "darwin", "ios":
		dir, err := home()
		if err != nil {
			return "", fmt.Errorf("there is no home directory: %w; choose a file with -worker-file", err)
		}
		return filepath.Join(dir, "Library", "Application Support"), nil
	default:
		// The XDG Base Directory Specification. It says that a relative path must be ignored.
		if dir := getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
			return dir, nil
		}
		dir, err := home()
		if err != nil {
			return "", fmt.Errorf("there is no home directory: %w; choose a file with -worker-file", err)
		}
		return filepath.Join(dir, ".local", "state"), nil
	}
}
