package settings

import (
	"encoding/json"
	"log/slog"
	"slices"
	"strconv"
	"strings"
)

// print returns the keys and values that are in force, in the order of the table, or, if the settings are not valid, those that
// are set. A password in the store is replaced.
func (s Settings) print() (all []setting) {
	if inForce, err := s.InForce(); err == nil {
		s = inForce
	}
	for _, k := range table() {
		text, ok := s[k.Name]
		if k.Name == "store" {
			text = Redact(text)
		}
		if ok {
			all = append(all, setting{key: k.Name, text: text})
		}
	}
	return all
}

// String returns what is in force, as InForce does, as keys and values:
//
//	generator=cached layout=1-28-22-13 epoch=2026-01-01T00:00:00Z …
//
// A password in the store is replaced. Of settings that are not valid it has what is set.
func (s Settings) String() string {
	var b strings.Builder
	for i, p := range s.print() {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(p.key + "=")
		if quoted := strconv.Quote(p.text); strings.ContainsAny(p.text, " =") || quoted != `"`+p.text+`"` {
			p.text = quoted
		}
		b.WriteString(p.text)
	}
	return b.String()
}

// LogValue implements slog.LogValuer: a group with what String prints.
func (s Settings) LogValue() slog.Value {
	var attrs []slog.Attr
	for _, p := range s.print() {
		attrs = append(attrs, slog.String(p.key, p.text))
	}
	return slog.GroupValue(attrs...)
}

// MarshalJSON implements json.Marshaler: an object with what String prints, each value a text. UnmarshalJSON reads it back,
// to settings with the same effect, but for a password in the store, which is replaced. If the settings are not valid, the error
// is that of Check.
func (s Settings) MarshalJSON() ([]byte, error) {
	m, err := s.MarshalYAML()
	if err != nil {
		return nil, err
	}
	return json.Marshal(m)
}

// MarshalYAML has the signature that YAML libraries for Go call. It returns a map with what MarshalJSON writes.
func (s Settings) MarshalYAML() (any, error) {
	if err := s.Check(); err != nil {
		return nil, err
	}
	m := map[string]string{}
	for _, p := range s.print() {
		m[p.key] = p.text
	}
	return m, nil
}

// redacted stands for what may be a secret.
const redacted = "xxxxx"

// Redact returns the URL or the data source name of a store without what may be a secret, for logs and errors. It replaces what
// stands between the first colon and the last @, the values of parameters, and everything behind "password=". If it cannot
// tell to which of these something belongs, it replaces everything behind the scheme. It may replace more than secrets: the
// values of parameters with a name in shown are kept. A text that begins with file: is returned as it is.
func Redact(store string, shown ...string) string {
	if isFileStore(store) {
		return store
	}
	scheme, rest, isURL := strings.Cut(store, "://")
	const letters = "abcdefghijklmnopqrstuvwxyz+-.0123456789"
	if isURL && len(scheme) > 1 && strings.Trim(strings.ToLower(scheme), letters) == "" { // otherwise it may be a part of a password
		scheme += "://"
	} else {
		scheme, rest = "", store
	}
	rest, password := cutPassword(rest)
	at, mark := strings.LastIndexByte(rest, '@'), strings.IndexAny(rest, "?&")
	if 0 <= mark && mark < at || strings.Contains(password, "@") {
		return scheme + redacted // a password with these characters, or a parameter with an @
	}
	if at >= 0 {
		if user, _, hasPassword := strings.Cut(rest[:at], ":"); hasPassword {
			rest = user + ":" + redacted + rest[at:]
		}
	}
	if mark = strings.IndexAny(rest, "?&"); mark >= 0 {
		parameters := strings.Split(rest[mark+1:], "&")
		for i, parameter := range parameters {
			name, value, hasValue := strings.Cut(parameter, "=")
			if hasValue && (!slices.Contains(shown, name) || strings.ContainsAny(value, "?=")) {
				parameters[i] = name + "=" + redacted
			}
		}
		rest = rest[:mark+1] + strings.Join(parameters, "&")
	}
	if password != "" {
		rest += "=" + redacted
	}
	return scheme + rest
}

// cutPassword splits a text before the first equals sign that follows "password", perhaps after spaces.
func cutPassword(text string) (before, password string) {
	const name = "password"
	for i := range len(text) - len(name) + 1 {
		if !strings.EqualFold(text[i:i+len(name)], name) {
			continue
		}
		if value := strings.TrimLeft(text[i+len(name):], " \t\r\n"); strings.HasPrefix(value, "=") {
			return text[:len(text)-len(value)], value
		}
	}
	return text, ""
}
