package main

import (
	"errors"
	"fmt"
	"path/filepath"
)

// stateFolder returns the folder for files that programs of this user keep between runs. The
// standard library has no function for it: os.UserConfigDir is for settings, and the contents of
// os.UserCacheDir may be deleted at any time.
func stateFolder(goos string, getenv func(string) string, home func() (string, error)) (string, error) {
	switch goos {
	case "windows":
		if folder := getenv("LocalAppData"); folder != "" {
			return folder, nil
		}
		return "", errors.New("%LocalAppData% is not set; choose a file with -worker-file")
	case "darwin", "ios":
		folder, err := home()
		if err != nil {
			return "", fmt.Errorf("there is no home folder: %w; choose a file with -worker-file", err)
		}
		return filepath.Join(folder, "Library", "Application Support"), nil
	default:
		// The XDG Base Directory Specification. It says that a relative path must be ignored.
		if folder := getenv("XDG_STATE_HOME"); filepath.IsAbs(folder) {
			return folder, nil
		}
		folder, err := home()
		if err != nil {
			return "", fmt.Errorf("there is no home folder: %w; choose a file with -worker-file", err)
		}
		return filepath.Join(folder, ".local", "state"), nil
	}
}
