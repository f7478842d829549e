package connect

import (
	"errors"
	"regexp"
	"strings"
)

// secretParameter finds the values of parameters that may be secret, such as the password of a data source name of PostgreSQL.
var secretParameter = regexp.MustCompile(`(?i)([?&][^=&]*(?:pass|secret|token)[^=&]*=)[^&]*`)

// Redact returns a path, URL or data source name with its password replaced by xxxxx. If it is malformed, more than the
// password may be replaced.
func Redact(text string) string {
	if scheme, _, _ := cutScheme(text); scheme == string(File) || isPath(text) {
		return text
	}
	begin := 0
	if scheme, after, ok := cutScheme(text); ok && strings.HasPrefix(after, "//") { // otherwise the scheme may be meant as a user name
		begin = len(scheme) + len("://")
	}
	if found := secretParameter.FindStringIndex(text); found != nil && strings.Contains(text[found[0]:], "@") {
		return text[:begin] + "xxxxx" // the @ may be of that parameter, or of the password before the host
	}
	// Everything up to the last @ may be the password, if it contains characters that must be escaped.
	at := strings.LastIndexByte(text, '@')
	if at >= begin {
		if colon := strings.IndexByte(text[begin:at], ':'); colon >= 0 {
			text = text[:begin+colon+1] + "xxxxx" + text[at:]
		}
	}
	return secretParameter.ReplaceAllString(text, "${1}xxxxx")
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
