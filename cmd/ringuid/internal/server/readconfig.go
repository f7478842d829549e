package server

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/ringuid/ringuid/uid"
)

// Sources are where ReadConfig finds settings. A flag takes precedence over an environment variable, and that over
// the file.
type Sources struct {
	File      string                      // the path of a YAML file; "": none
	Flags     map[string]string           // by the names of settings
	LookupEnv func(string) (string, bool) // nil: os.LookupEnv
}

// tokenEnv is the environment variable of a token that allows everything, and tokenFileFlag the setting of a file with it.
const (
	tokenEnv      = "RINGUID_TOKEN"
	tokenFileFlag = "token-file"
)

// ReadConfig returns the configuration of its sources. The error joins all faults, each with where it is, and each
// wraps ErrConfig.
func ReadConfig(src Sources) (Config, error) {
	if src.LookupEnv == nil {
		src.LookupEnv = os.LookupEnv
	}
	r := &configReader{cfg: DefaultConfig(), where: map[string]string{}}
	known := map[string]setting{}
	for _, st := range settings() {
		known[st.name] = st
	}
	if src.File != "" {
		r.readFile(src.File, known)
	}
	for _, st := range settings() {
		if text, ok := src.LookupEnv(st.env()); ok && text != "" { // as for uid.Settings, an empty variable is not set
			r.set(st, st.env(), text)
		}
	}
	// Those of the generator. The variable of the store means the server's setting.
	err := r.cfg.UID.ReadEnv(uid.SettingsPrefix, func(name string) (string, bool) {
		if name == known["store"].env() {
			return "", false
		}
		return src.LookupEnv(name)
	})
	if err != nil {
		r.failSettings("the environment", err)
	}
	if secret, ok := src.LookupEnv(tokenEnv); ok {
		r.addToken(tokenEnv, secret)
	}
	if path, ok := src.LookupEnv(tokenEnv + "_FILE"); ok {
		r.addTokenFile(tokenEnv+"_FILE", path)
	}
	for name, text := range src.Flags {
		if st, ok := known[name]; ok {
			r.set(st, "--"+name, text)
		} else if name == tokenFileFlag {
			r.addTokenFile("--"+name, text)
		} else {
			r.fail("--"+name, "is not a setting")
		}
	}
	// A value that could not be read keeps an earlier one, so that everything else is still checked.
	cfg, err := r.cfg.validate(func(name string) string {
		if where := r.where[name]; where != "" {
			return where
		}
		return name
	})
	if err := errors.Join(append(r.faults, err)...); err != nil {
		return Config{}, err
	}
	return cfg, nil
}

// A configReader collects settings and faults.
type configReader struct {
	cfg    Config
	where  map[string]string // where each setting was set
	faults []error
}

// fail adds a fault.
func (r *configReader) fail(where, format string, args ...any) {
	r.faults = append(r.faults, fmt.Errorf("%w: %s %s", ErrConfig, where, fmt.Sprintf(format, args...)))
}

// failSettings adds the faults of the settings of the generator.
func (r *configReader) failSettings(where string, err error) {
	var all *uid.SettingsError
	if !errors.As(err, &all) {
		r.fail(where, "is wrong: %v", err)
		return
	}
	for _, fault := range all.Faults {
		r.fail(where, "has a wrong value: %s", fault)
	}
}

// set sets a setting to the value of a text.
func (r *configReader) set(st setting, where, text string) {
	if err := st.set(&r.cfg, text); err != nil {
		r.fail(where, "%v", err)
		return
	}
	r.where[st.name] = where
}

// addToken adds a token that allows everything.
func (r *configReader) addToken(where, secret string) {
	r.where["tokens"] = where
	r.cfg.Tokens = append(r.cfg.Tokens, Token{Name: where, Secret: secret, UIDs: true, Tags: []string{"*"}, Observe: true})
}

// addTokenFile adds the token of a file.
func (r *configReader) addTokenFile(where, path string) {
	secret, err := readSecret(path)
	if err != nil {
		r.fail(where, "%v", err)
		return
	}
	r.addToken(where, secret)
}

// readSecret returns the first line of a file.
func readSecret(path string) (string, error) {
	const maxSecret = 1 << 12
	info, err := os.Stat(path)
	if err != nil {
		return "", fmt.Errorf("cannot be read: %w", err)
	}
	if info.Size() > maxSecret {
		return "", fmt.Errorf("names %s, which has %d bytes; must have one line with a token", path, info.Size())
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("cannot be read: %w", err)
	}
	secret, more, _ := strings.Cut(string(text), "\n")
	if strings.TrimSpace(more) != "" {
		return "", fmt.Errorf("names %s, which has several lines; must have one line with a token", path)
	}
	return strings.TrimSpace(secret), nil
}
