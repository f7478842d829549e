package connect

import (
	"errors"
	"strings"

	"github.com/ringuid/ringuid/settings"
)

// Redact returns a path, URL or data source name without its password, and without the values of parameters that Options do not
// have, which may be secret.
func Redact(text string) string {
	if isPath(text) {
		return text
	}
	var ours []string
	for _, p := range parameters() {
		ours = append(ours, p.name)
	}
	return settings.Redact(text, ours...)
}

// hidePassword returns an error whose text does not contain the password, for errors of drivers.
func hidePassword(err error, passwords ...string) error {
	if err == nil {
		return nil
	}
	text := err.Error()
	for _, p := range passwords {
		if p != "" {
			text = strings.ReplaceAll(text, p, "xxxxx")
		}
	}
	return errors.New(text)
}
