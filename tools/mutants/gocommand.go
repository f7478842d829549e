package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
)

// realGoVariable is the environment variable with the path of the command go.
const realGoVariable = "RINGUID_MUTANTS_GO"

// goCommand is the command go for gremlins. It does what that does, but for two calls of go test:
//
//   - The profile of the coverage also has the code for which Go counts nothing, see completeProfile.
//   - A mutant that does not compile ends with status 2, by which gremlins knows it. go test ends with 1, as if a test had failed.
//     go vet is not run, because it is no test.
func goCommand(args []string) (status int) {
	realGo := os.Getenv(realGoVariable)
	profile := slices.Index(args, "-coverprofile") + 1
	switch {
	case len(args) == 0 || args[0] != "test":
		return runGo(realGo, args, nil)
	case profile == 0:
		var out bytes.Buffer
		status = runGo(realGo, slices.Insert(slices.Clone(args), 1, "-vet=off"), &out)
		if status != 0 && strings.Contains(out.String(), "[build failed]") {
			return 2
		}
		return status
	}
	// A result of the cache would be too fast: gremlins measures how long the tests take.
	if status = runGo(realGo, slices.Insert(slices.Clone(args), 1, "-count=1", "-vet=off"), nil); status != 0 {
		return status
	}
	if err := completeProfile(args[profile]); err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		return 1
	}
	return 0
}

// runGo runs the command go, and returns its status. Its output goes to out, if that is not nil.
func runGo(realGo string, args []string, out *bytes.Buffer) (status int) {
	cmd := exec.Command(realGo, args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	if out != nil {
		cmd.Stdout, cmd.Stderr = out, out
	}
	err := cmd.Run()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit):
		return max(exit.ExitCode(), 1)
	}
	fmt.Fprintln(os.Stderr, "mutants:", err)
	return 1
}
