package settings

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// A setting is a key and the text of its value, or why it has none. name is the key or the environment variable, for faults.
type setting struct {
	name, key, text string
	err             error
}

// setAll sets all values, or none if one is wrong.
func (s *Settings) setAll(values []setting) error {
	if s == nil {
		return fault("", "the Settings to read into are nil")
	}
	keys := map[string]row{}
	for _, k := range table() {
		keys[k.Name] = k
	}
	var found faults
	changed := maps.Clone(*s)
	seen := map[string]bool{}
	for _, v := range values {
		k, known := keys[v.key]
		text, err := "", v.err
		switch {
		case seen[v.key]:
			err = errors.New("is set more than once")
		case err != nil:
		case !known:
			err = unknownKey(v.key, keyNames())
		default:
			if text, _, err = k.read(v.text); err == nil {
				changed.put(v.key, text)
			}
		}
		seen[v.key] = true
		found.add(v.name, err)
	}
	if len(found) == 0 {
		*s = changed
	}
	return found.err()
}

// ReadEnv sets the keys whose environment variables are set: Key.Env(prefix). lookup returns the value of a variable, as
// os.LookupEnv does. A variable that is empty counts as not set. With an error, which is an *Error with the names of the
// variables, the settings are unchanged.
//
// ReadEnv cannot find variables that have the prefix and no key: see CheckEnviron.
func (s *Settings) ReadEnv(prefix string, lookup func(name string) (value string, ok bool)) error {
	if lookup == nil {
		return fault("", "the function that looks up variables is nil")
	}
	var values []setting
	for _, k := range table() {
		name := k.Env(prefix)
		if value, ok := lookup(name); ok && value != "" {
			values = append(values, setting{name, k.Name, value, nil})
		}
	}
	return s.setAll(values)
}

// CheckEnviron finds misspelt variables: those in environ, which is what os.Environ returns, that begin with the prefix and
// are neither of Keys nor among others. The error is an *Error, which names the variable that was probably meant.
// Variables that Kubernetes sets for services whose names begin with the prefix (RINGUID_SERVICE_HOST,
// RINGUID_TAGS_PORT_80_TCP and so on) are accepted.
func CheckEnviron(prefix string, environ []string, others ...string) error {
	var found faults
	known := slices.Clone(others)
	for _, k := range table() {
		known = append(known, k.Env(prefix))
	}
	for _, entry := range environ {
		name, value, _ := strings.Cut(entry, "=")
		if rest, ok := strings.CutPrefix(name, prefix); ok && !slices.Contains(known, name) && !isServiceVariable(rest, value) {
			found.add(name, unknownKey(name, known))
		}
	}
	return found.err()
}

// isServiceVariable reports whether Kubernetes sets a variable for a service. rest is its name behind the prefix.
func isServiceVariable(rest, value string) bool {
	rest = "_" + rest
	if strings.HasSuffix(rest, "_SERVICE_HOST") || strings.Contains(rest, "_SERVICE_PORT") {
		return true
	}
	for _, protocol := range []string{"tcp", "udp", "sctp"} {
		if strings.Contains(rest, "_PORT_") && strings.Contains(rest, "_"+strings.ToUpper(protocol)) ||
			strings.HasSuffix(rest, "_PORT") && strings.HasPrefix(value, protocol+"://") {
			return true
		}
	}
	return false
}

// UnmarshalJSON implements json.Unmarshaler. It reads an object whose keys are those of Keys. Their values are texts as for
// Set, or numbers or truth values instead of their texts. Keys that are missing in the object are unchanged. An unknown or
// repeated key, and null as a value, is an error. With an error, which is an *Error, the settings are unchanged. As usual, null
// instead of an object changes nothing.
func (s *Settings) UnmarshalJSON(data []byte) error {
	if string(data) == "null" {
		return nil
	}
	values, err := decodeObject(data)
	if err != nil {
		return faults{{"", err}}.err()
	}
	return s.setAll(values)
}

// UnmarshalYAML reads a mapping as UnmarshalJSON reads an object. It has the signature that YAML libraries for Go call
// (gopkg.in/yaml.v3 and github.com/goccy/go-yaml, for example). In YAML a number with leading zeros may be octal: write none.
func (s *Settings) UnmarshalYAML(unmarshal func(any) error) error {
	// Into texts, because a library may read 2026-01-01T00:00:00Z as a time and 1h as something of its own.
	var texts map[string]string
	if err := unmarshal(&texts); err != nil {
		return faults{{"", err}}.err()
	}
	var values []setting
	for _, key := range slices.Sorted(maps.Keys(texts)) {
		values = append(values, setting{key, key, texts[key], nil})
	}
	return s.setAll(values)
}

// decodeObject returns the keys and values of a JSON object, also of keys that are repeated.
func decodeObject(data []byte) (values []setting, err error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	token, err := d.Token()
	if err != nil {
		return nil, err
	}
	if token != json.Delim('{') {
		return nil, fmt.Errorf("the JSON is %s; must be an object", kindOf(bytes.TrimSpace(data)))
	}
	for d.More() {
		token, err := d.Token()
		if err != nil {
			return nil, err
		}
		key := token.(string) // the decoder accepts no other
		var raw json.RawMessage
		if err := d.Decode(&raw); err != nil {
			return nil, err
		}
		text, err := textOf(raw)
		values = append(values, setting{key, key, text, err})
	}
	_, unclosed := d.Token()
	if _, err := d.Token(); unclosed != nil || err != io.EOF {
		return nil, errors.New("the JSON must be one object, and nothing after it")
	}
	return values, nil
}

// textOf returns the text of a JSON value.
func textOf(raw json.RawMessage) (text string, err error) {
	switch raw[0] {
	case '"':
		err = json.Unmarshal(raw, &text)
		return text, err
	case '{', '[', 'n':
		return "", fmt.Errorf("is %s; must be a text, a number or a truth value", kindOf(raw))
	}
	return string(raw), nil
}

// kindOf names the kind of a JSON value. Errors have it in place of the value, which may contain a password.
func kindOf(raw []byte) string {
	switch raw[0] {
	case '{':
		return "an object"
	case '[':
		return "a list"
	case '"':
		return "a text"
	case 'n':
		return "null"
	case 't', 'f':
		return "a truth value"
	}
	return "a number"
}
