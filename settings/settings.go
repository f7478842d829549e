// Package settings configures a generator of package uid, and its assigner of worker IDs, from outside a program: from JSON,
// from YAML, from environment variables, from flags, or from any other source of keys and texts.
//
//	var s settings.Settings
//	err := json.Unmarshal(file, &s)                     // or yaml.Unmarshal, also as a field of another type
//	err = s.ReadEnv(settings.Prefix, os.LookupEnv)      // RINGUID_LAYOUT and so on replace what is in the file
//	workers, err := s.NewAssigner(settings.Backend{DB: db})
//	g, err := s.NewGenerator(ctx, workers)
//
// The keys are those of [Keys], which also has what they mean and their defaults. A source changes only the keys that it
// contains, so that several can be read one after the other. What is wrong is reported as a whole: a call returns one [*Error]
// with all faults that it has found.
//
// Programs whose configuration is code do not require this package: they pass the options of package uid to its constructors.
// doc/settings.md has the keys in a table, and examples.
package settings

import (
	"cmp"
	"maps"
	"slices"

	"github.com/ringuid/ringuid/uid"
)

// Settings are the values of keys, as texts. A key that is missing has its default. The zero value is ready to use: it has no
// assigner, and a Cached generator with the default options.
//
//	s := settings.Settings{"generator": "default", "layout": "1-30-20-13", "assigner": "disposable"}
//
// Numbers are decimal, durations are as time.ParseDuration reads them, times as in RFC 3339, and truth values "true" and
// "false". Set and the methods that read a source refuse what is not valid, and write each value in one way: 30m becomes
// 30m0s. What a program has put into the map by itself is checked when it is used, or by Check.
//
// The logger and the clock of a program cannot be written as text. Pass them to NewGenerator, as options. A take policy that a program implements
// is an option of uid.NewCached only: pass it to that, after the options that CachedOptions returns.
type Settings map[string]string

// Set sets a key. If there is no such key, or the value is not valid, the error is an *Error, and the settings are unchanged.
// What contradicts other keys is found by Check. Set changes no other copy of the map.
func (s *Settings) Set(key, value string) error {
	return s.setAll([]setting{{key, key, value, nil}})
}

// Check checks all settings: each value by itself, and against the others. The error is an *Error. Whether the worker ID, the
// prefix and the division fit into the layout is checked later, when a generator takes a worker ID.
func (s Settings) Check() error {
	s, opts, found := s.read()
	if len(found) == 0 { // otherwise their values against each other mean nothing
		if s["generator"] == generatorDefault {
			found.addJoined(uid.CheckDefault(of[uid.DefaultOption](opts)...))
		} else {
			_, _, err := uid.CachedBounds(of[uid.Option](opts)...)
			found.addJoined(err)
		}
	}
	s.checkAssigner(&found)
	return found.err()
}

// read returns the settings with each value written in the usual way, unless it is wrong, the options that they are, and what is
// wrong with single values.
func (s Settings) read() (usual Settings, opts []any, found faults) {
	usual = maps.Clone(s)
	unknown := maps.Clone(s)
	for _, k := range table() {
		text, ok := s[k.Name]
		if !ok {
			continue
		}
		delete(unknown, k.Name)
		value, opt, err := k.read(text)
		if err != nil {
			found.add(k.Name, err)
			continue
		}
		usual.put(k.Name, value)
		if opt != nil {
			opts = append(opts, opt)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(unknown)) {
		found.add(name, unknownKey(name, keyNames()))
	}
	return usual, opts, found
}

// put sets a key to a value that read has returned.
func (s *Settings) put(key, value string) {
	switch {
	case value == "":
		delete(*s, key)
	case *s == nil:
		*s = Settings{key: value}
	default:
		(*s)[key] = value
	}
}

// of returns those of the options that a constructor accepts.
func of[O any](opts []any) (list []O) {
	for _, opt := range opts {
		if o, ok := opt.(O); ok || opt == nil { // nil is an error of the constructor
			list = append(list, o)
		}
	}
	return list
}

// CachedOptions returns the options that the settings are, for uid.NewCached, which checks them against each other. If a value is not
// valid by itself, the error is an *Error.
func (s Settings) CachedOptions() ([]uid.Option, error) {
	_, opts, found := s.read()
	return of[uid.Option](opts), found.err()
}

// DefaultOptions is CachedOptions for uid.NewDefault.
func (s Settings) DefaultOptions() ([]uid.DefaultOption, error) {
	_, opts, found := s.read()
	return of[uid.DefaultOption](opts), found.err()
}

// Format returns the format of the settings' generators, for programs that read UIDs and generate none.
func (s Settings) Format() (uid.Format, error) {
	_, opts, found := s.read()
	if err := found.err(); err != nil {
		return uid.Format{}, err
	}
	return uid.NewFormat(of[uid.FormatOption](opts)...)
}

// InForce returns the settings with each key that has an effect: a key that is missing has the default that is in force with
// the others. Keys that have no effect on this kind of generator are left out. If the settings are not valid, the error is that
// of Check.
func (s Settings) InForce() (Settings, error) {
	if err := s.Check(); err != nil {
		return nil, err
	}
	s, opts, _ := s.read()
	generator := cmp.Or(s["generator"], generatorCached)
	inForce := Settings{}
	for _, k := range table() {
		if k.only == "" || k.only == generator {
			inForce.put(k.Name, cmp.Or(s[k.Name], k.Default))
		}
	}
	if generator == generatorCached {
		staleness, borrow, err := uid.CachedBounds(of[uid.Option](opts)...) // whose defaults depend on other options
		if err != nil {
			return nil, err
		}
		inForce["max_staleness"], inForce["max_borrow"] = staleness.String(), borrow.String()
		if inForce["schedule_interval"] == "0s" {
			delete(inForce, "max_staleness") // nothing enforces it
		}
	}
	return inForce, nil
}
