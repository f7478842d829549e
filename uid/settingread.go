package uid

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
)

// ReadEnv sets the fields whose environment variables are set: SettingKey.Env(prefix). lookup returns the value of a
// variable, as os.LookupEnv does. A variable that is empty counts as not set. With an error, which is a *SettingsError with
// the names of the variables, the settings are unchanged.
//
// ReadEnv cannot find variables that have the prefix and no key: see CheckEnviron.
func (s *Settings) ReadEnv(prefix string, lookup func(name string) (value string, ok bool)) error {
	if s == nil || lookup == nil {
		return settingError("the Settings, or the function that looks up variables, is nil")
	}
	var found faults
	changed := *s
	for _, k := range SettingKeys() {
		name := k.Env(prefix)
		if value, ok := lookup(name); ok && value != "" {
			found.add(name, changed.set(k.Name, value))
		}
	}
	if len(found) == 0 {
		*s = changed
	}
	return found.err()
}

// CheckEnviron finds misspelt variables: those in environ, which is what os.Environ returns, that begin with the prefix and
// are neither of SettingKeys nor among others. The error is a *SettingsError, which names the variable that was probably meant.
// Variables that Kubernetes sets for services whose names begin with the prefix (RINGUID_SERVICE_HOST,
// RINGUID_TAGS_PORT_80_TCP and so on) are accepted.
func CheckEnviron(prefix string, environ []string, others ...string) error {
	var found faults
	known := append(keyNames(func(k SettingKey) string { return k.Env(prefix) }), others...)
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

// UnmarshalJSON implements json.Unmarshaler. It reads an object whose keys are those of SettingKeys. Their values are texts as
// for Set, or numbers or truth values instead of their texts. Fields whose keys are missing are unchanged. An unknown or
// repeated key, and null as a value, is an error. With an error, which is a *SettingsError, or that of package json, the
// settings are unchanged. As usual, null instead of an object changes nothing.
func (s *Settings) UnmarshalJSON(data []byte) error {
	if string(data) == "null" {
		return nil
	}
	values, err := decodeObject(data)
	if err != nil {
		return err
	}
	return s.setAll(values)
}

// UnmarshalYAML reads a mapping as UnmarshalJSON reads an object. It has the signature that YAML libraries for Go call
// (gopkg.in/yaml.v3 and github.com/goccy/go-yaml, for example). In YAML a number with leading zeros may be octal: write none.
func (s *Settings) UnmarshalYAML(unmarshal func(any) error) error {
	// Into texts, because a library may read 2026-01-01T00:00:00Z as a time and 1h as something of its own.
	var texts map[string]string
	if err := unmarshal(&texts); err != nil {
		return fmt.Errorf("%w: settings: %w", ErrOption, err)
	}
	var values []keyValue
	for key, text := range texts {
		values = append(values, keyValue{key, text, nil})
	}
	slices.SortFunc(values, func(a, b keyValue) int { return strings.Compare(a.key, b.key) })
	return s.setAll(values)
}

// keyValue is a key with the text of its value, or with why it has none.
type keyValue struct {
	key, text string
	err       error
}

// setAll sets all values, or none if one is wrong.
func (s *Settings) setAll(values []keyValue) error {
	if s == nil {
		return settingError("the Settings to unmarshal into are nil")
	}
	var found faults
	changed := *s
	seen := map[string]bool{}
	for _, v := range values {
		err := v.err
		switch {
		case seen[v.key]:
			err = settingError("is set more than once")
		case err == nil:
			err = changed.set(v.key, v.text)
		}
		seen[v.key] = true
		found.add(v.key, err)
	}
	if len(found) == 0 {
		*s = changed
	}
	return found.err()
}

// decodeObject returns the keys and values of a JSON object, also of keys that are repeated.
func decodeObject(data []byte) (values []keyValue, err error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	token, err := d.Token()
	if err != nil {
		return nil, fmt.Errorf("%w: settings: %w", ErrOption, err)
	}
	if token != json.Delim('{') {
		return nil, settingError("settings: the JSON is %s; must be an object", kindOf(bytes.TrimSpace(data)))
	}
	for d.More() {
		token, err := d.Token()
		if err != nil {
			return nil, fmt.Errorf("%w: settings: %w", ErrOption, err)
		}
		v := keyValue{key: token.(string)} // the decoder accepts no other key
		var raw json.RawMessage
		if err := d.Decode(&raw); err != nil {
			return nil, fmt.Errorf("%w: settings: %w", ErrOption, err)
		}
		v.text, v.err = textOf(raw)
		values = append(values, v)
	}
	_, unclosed := d.Token()
	if _, err := d.Token(); unclosed != nil || err != io.EOF {
		return nil, settingError("settings: the JSON must be one object, and nothing after it")
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
		return "", settingError("is %s; must be a text, a number or a truth value", kindOf(raw))
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
