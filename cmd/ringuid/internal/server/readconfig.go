package server

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/ringuid/ringuid/settings"
)

// Sources are where ReadConfig finds settings. A flag takes precedence over an environment variable, and that over
// the file.
type Sources struct {
	File      string                      // the path of a YAML file; "": none
	Flags     map[string]string           // by the names of Flags and FlagOfKey
	LookupEnv func(string) (string, bool) // nil: os.LookupEnv

	// Environ is what os.Environ returns. A variable in it that begins with RINGUID_ and is not a setting is a fault: it is
	// probably misspelt.
	Environ []string

	// Check, if not nil, checks what this package does not know, such as the texts of stores. It returns what is wrong, by
	// the names of settings. If the file cannot be read as a whole, what it returns for a setting that is not set is not reported: it
	// may be in the file.
	Check func(Config) map[string]error
}

// tokenEnv is the environment variable of a token that allows everything, and tokenFileFlag the setting of a file with it.
const (
	tokenEnv      = "RINGUID_TOKEN"
	tokenFileFlag = "token-file"

	// configEnv is the variable of Sources.File, which the caller reads.
	configEnv = "RINGUID_CONFIG"
)

// Variables returns the names of all environment variables that ReadConfig and its caller read.
func Variables() []string {
	names := []string{configEnv, tokenEnv, tokenEnv + "_FILE"}
	for _, st := range table() {
		names = append(names, st.env())
	}
	for _, k := range generatorKeys() {
		names = append(names, k.Env(settings.Prefix))
	}
	return names
}

// ReadConfig returns the configuration of its sources. The error joins all faults, each with where it is, and each
// wraps ErrConfig.
func ReadConfig(src Sources) (Config, error) {
	if src.LookupEnv == nil {
		src.LookupEnv = os.LookupEnv
	}
	r := &configReader{cfg: DefaultConfig(), where: map[string]string{}}
	known := map[string]setting{}
	for _, st := range table() {
		known[st.name] = st
	}
	if src.File != "" {
		r.readFile(src.File, known)
	}
	for _, st := range table() {
		if text, ok := src.LookupEnv(st.env()); ok && text != "" { // as for settings.Settings, an empty variable is not set
			r.set(st, st.env(), text)
		}
	}
	// Those of the generator. The variable of the store means the server's setting.
	err := r.cfg.UID.ReadEnv(settings.Prefix, func(name string) (string, bool) {
		if name == known["store"].env() {
			return "", false
		}
		return src.LookupEnv(name)
	})
	if err != nil {
		r.failSettings("", err)
	}
	for _, k := range generatorKeys() {
		if text, ok := src.LookupEnv(k.Env(settings.Prefix)); ok && text != "" {
			r.where[uidName(k.Name)] = k.Env(settings.Prefix)
		}
	}
	r.checkEnviron(src.Environ)
	if secret, ok := src.LookupEnv(tokenEnv); ok {
		r.addToken(tokenEnv, secret)
	}
	if path, ok := src.LookupEnv(tokenEnv + "_FILE"); ok {
		r.addTokenFile(tokenEnv+"_FILE", path)
	}
	for _, name := range slices.Sorted(maps.Keys(src.Flags)) {
		r.setFlag(name, src.Flags[name], known)
	}
	// A value that could not be read keeps an earlier one, so that everything else is still checked.
	cfg, err := r.cfg.validate(r.whereIs)
	if src.Check != nil {
		wrong := src.Check(r.cfg)
		for _, name := range slices.Sorted(maps.Keys(wrong)) {
			if r.unread && r.where[name] == "" {
				continue
			}
			r.fail(r.whereIs(name), "%v", wrong[name])
		}
	}
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
	unread bool // whether there is a file, and it could not be read as a whole
}

// whereIs returns where a setting was set, or its name.
func (r *configReader) whereIs(name string) string {
	if where := r.where[name]; where != "" {
		return where
	}
	return name
}

// checkEnviron finds variables that are not settings. A misspelt RINGUID_TOKEN would leave the server without tokens.
func (r *configReader) checkEnviron(environ []string) {
	var all *settings.Error
	if !errors.As(settings.CheckEnviron(settings.Prefix, environ, Variables()...), &all) {
		return
	}
	for _, fault := range all.Faults {
		r.fail(fault.Name, "is not a setting; %s", Advice(fault))
	}
}

// Advice says what to do about a fault of settings.CheckEnviron.
func Advice(fault settings.Fault) string {
	if _, meant, ok := strings.Cut(fault.Err.Error(), "; did you mean "); ok {
		return "did you mean " + meant
	}
	return "remove it, or correct its name: doc/server.md and doc/settings.md list the variables"
}

// setFlag sets the setting of a flag.
func (r *configReader) setFlag(name, text string, known map[string]setting) {
	where := "--" + name
	if st, ok := known[name]; ok {
		r.set(st, where, text)
		return
	}
	if name == tokenFileFlag {
		r.addTokenFile(where, text)
		return
	}
	for _, k := range generatorKeys() {
		if FlagOfKey(k) != name {
			continue
		}
		var all *settings.Error
		if err := r.cfg.UID.Set(k.Name, text); errors.As(err, &all) {
			r.fail(where+":", "%s", strings.TrimPrefix(all.Faults[0].String(), k.Name+": "))
			return
		}
		r.where[uidName(k.Name)] = where
		return
	}
	r.fail(where, "is not a setting")
}

// generatorKeys returns the keys of the settings of the generator and of its worker ID. The store has a setting of its own.
func generatorKeys() []settings.Key {
	return slices.DeleteFunc(settings.Keys(), func(k settings.Key) bool { return k.Name == "store" })
}

// FlagOfKey returns the name of the flag of a setting of the generator.
func FlagOfKey(k settings.Key) string { return strings.ReplaceAll(k.Name, "_", "-") }

// uidName returns the name of a setting of the generator, in faults.
func uidName(key string) string { return "uid." + key }

// fail adds a fault.
func (r *configReader) fail(where, format string, args ...any) {
	r.faults = append(r.faults, fmt.Errorf("%w: %s %s", ErrConfig, where, fmt.Sprintf(format, args...)))
}

// failSettings adds the faults of the settings of the generator. where is "" if their names say where they were set.
func (r *configReader) failSettings(where string, err error) {
	var all *settings.Error
	errors.As(err, &all) // package settings returns no other errors
	for _, fault := range all.Faults {
		if where == "" {
			r.fail(fault.Name+":", "%s", strings.TrimPrefix(fault.String(), fault.Name+": "))
			continue
		}
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
	if path == "" {
		return "", errors.New("is empty; must name a file with a token, or not be set")
	}
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
