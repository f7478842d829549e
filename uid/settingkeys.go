package uid

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// SettingsPrefix is the usual prefix of the environment variables that ReadEnv reads.
const SettingsPrefix = "RINGUID_"

// A SettingKey describes a key of Settings, for the help of a program and its flags.
type SettingKey struct {
	Name  string // in JSON, YAML and Set: in snake case, such as "boost_power"
	Usage string // what it sets, and what its values look like
}

// Env returns the name of the environment variable with a prefix: RINGUID_BOOST_POWER with SettingsPrefix.
func (k SettingKey) Env(prefix string) string { return prefix + strings.ToUpper(k.Name) }

// SettingKeys returns all keys of Settings.
func SettingKeys() []SettingKey {
	var keys []SettingKey
	for _, k := range settingTable() {
		keys = append(keys, k.SettingKey)
	}
	return keys
}

// Set sets the field of a key to what a text means: numbers are decimal, durations as time.ParseDuration reads them, times as
// in RFC 3339, and truth values "true" and "false". If there is no such key, or the value is not valid, the error is a
// *SettingsError, and the settings are unchanged. What contradicts other keys is found by Check.
func (s *Settings) Set(key, value string) error {
	var found faults
	found.add(key, s.set(key, value))
	return found.err()
}

// set is Set without the wrapper.
func (s *Settings) set(key, value string) error {
	if s == nil {
		return fmt.Errorf("%w: the Settings are nil", ErrOption)
	}
	for _, k := range settingTable() {
		if k.Name != key {
			continue
		}
		changed := *s
		if err := k.set(&changed, value); err != nil {
			return err
		}
		if err := k.check(changed); err != nil {
			return err
		}
		*s = changed
		return nil
	}
	return unknownKey(key, keyNames(func(k SettingKey) string { return k.Name }))
}

// Get returns the text of a key's value, which Set reads. If the field is not set, or there is no such key, ok is false.
func (s Settings) Get(key string) (value string, ok bool) {
	for _, k := range settingTable() {
		if k.Name == key {
			value = k.get(s)
		}
	}
	return value, value != ""
}

// A setting is a key, and how its field is read and written. get returns "" if the field is not set.
type setting struct {
	SettingKey
	set func(s *Settings, text string) error
	get func(s Settings) string
}

// settingTable returns the settings in the order in which they are printed.
func settingTable() []setting {
	return []setting{
		textSetting("generator", "cached or default; the default is cached",
			func(s *Settings) *string { return &s.Generator }, oneOf(GeneratorCached, GeneratorDefault)),

		{SettingKey{"layout", "the widths of sign, time, worker ID and sequence, as in 1-28-22-13"}, setLayout, getLayout},
		{SettingKey{"epoch", "the instant that time counts from, as in 2026-01-01T00:00:00Z"}, setEpoch, getEpoch},
		durationSetting("time_unit", "the unit of time, from 1ms to 1s", func(s *Settings) *time.Duration { return &s.TimeUnit }),

		pointerSetting("boost_power", fmt.Sprintf("the size of the ring, which is 2^boost_power time units: 0 to %d", MaxBoostPower),
			func(s *Settings) **int { return &s.BoostPower }, parseInt, strconv.Itoa),
		numberSetting("padding_factor", "the percentage of the ring below which it is padded: 1 to 99",
			func(s *Settings) *int { return &s.PaddingFactor }, false),
		pointerSetting("schedule_interval", "the time between scheduled paddings, as in 1s; 0 turns them off",
			func(s *Settings) **time.Duration { return &s.ScheduleInterval }, parseDuration, time.Duration.String),
		durationSetting("max_staleness", "how far the time of a UID may lie behind the clock, as in 3s",
			func(s *Settings) *time.Duration { return &s.MaxStaleness }),
		pointerSetting("max_borrow", "how far the time of a UID may lie ahead of the clock, as in 1h",
			func(s *Settings) **time.Duration { return &s.MaxBorrow }, parseDuration, time.Duration.String),
		pointerSetting("rollover", "whether another lease is taken at the borrow limit: true or false",
			func(s *Settings) **bool { return &s.Rollover }, parseBool, strconv.FormatBool),
		pointerSetting("rollover_interval", "the least time between two such changes, as in 1h; 0 for no limit",
			func(s *Settings) **time.Duration { return &s.RolloverInterval }, parseDuration, time.Duration.String),
		durationSetting("reserve_ahead", "how far ahead of need the time of a lease is reserved, as in 30s",
			func(s *Settings) *time.Duration { return &s.ReserveAhead }),
		{SettingKey{"take_policy", "what happens when the ring is empty: caller_pads, wait or fail"}, setTakePolicy, getTakePolicy},
		{SettingKey{"rollback", "what the generator default does when the clock is set back: ride_out, refuse, or wait_out with a bound, as in wait_out:5s"},
			setRollback, getRollback},
		numberSetting("spread", "the number of bits over which the first sequence of a time unit varies; 0 for none",
			func(s *Settings) *int { return &s.Spread }, true),

		textSetting("assigner", "where the worker ID comes from: disposable, recycled or static",
			func(s *Settings) *string { return &s.Assigner }, oneOf(AssignerDisposable, AssignerRecycled, AssignerStatic)),
		textSetting("store", "what the assigner keeps worker IDs in: file: and a path, or what the program opens",
			func(s *Settings) *string { return &s.Store }, checkStore),
		textSetting("worker_id", "the worker ID: a number, or ordinal for that of a StatefulSet's pod",
			func(s *Settings) *string { return &s.WorkerID }, checkWorkerID),
		textSetting("worker_name", "the name of a recycled worker ID, which is the same again after a restart",
			func(s *Settings) *string { return &s.WorkerName }, checkWorkerName),
		textSetting("worker_prefix", "the upper bits of the worker IDs: 5/3 is the number 5 in 3 bits",
			func(s *Settings) *string { return &s.WorkerPrefix }, checkWorkerPrefix),
		numberSetting("worker_divide", "the number of bits by which each worker ID is divided into many; 0 for none",
			func(s *Settings) *int { return &s.WorkerDivide }, true),
	}
}

// check checks the value of one key by itself.
func (k setting) check(s Settings) error {
	text := k.get(s)
	if text == "" {
		return nil
	}
	var only Settings
	if err := k.set(&only, text); err != nil {
		return err
	}
	c := defaultConfig()
	for _, opt := range only.Options() {
		opt(&c)
	}
	return c.err
}

// textSetting returns the setting of a field that is a text.
func textSetting(name, usage string, field func(*Settings) *string, check func(string) error) setting {
	return setting{SettingKey{name, usage},
		func(s *Settings, text string) error {
			if err := check(text); err != nil {
				return err
			}
			*field(s) = text
			return nil
		},
		func(s Settings) string { return *field(&s) }}
}

// numberSetting returns the setting of a number that is not set if it is 0.
func numberSetting(name, usage string, field func(*Settings) *int, zero bool) setting {
	return setting{SettingKey{name, usage},
		func(s *Settings, text string) error {
			n, err := parseInt(text)
			if err == nil && n == 0 && !zero {
				err = settingError("is 0; must be greater, or left out for the default")
			}
			if err == nil {
				*field(s) = n
			}
			return err
		},
		func(s Settings) string {
			if n := *field(&s); n != 0 {
				return strconv.Itoa(n)
			}
			return ""
		}}
}

// durationSetting returns the setting of a duration that is not set if it is 0.
func durationSetting(name, usage string, field func(*Settings) *time.Duration) setting {
	return setting{SettingKey{name, usage},
		func(s *Settings, text string) error {
			d, err := parseDuration(text)
			if err == nil && d == 0 {
				err = settingError("is 0; must be greater, or left out for the default")
			}
			if err == nil {
				*field(s) = d
			}
			return err
		},
		func(s Settings) string {
			if d := *field(&s); d != 0 {
				return d.String()
			}
			return ""
		}}
}

// pointerSetting returns the setting of a value that may be the zero value, and is not set if it is nil.
func pointerSetting[T any](name, usage string, field func(*Settings) **T, parse func(string) (T, error), format func(T) string) setting {
	return setting{SettingKey{name, usage},
		func(s *Settings, text string) error {
			v, err := parse(text)
			if err == nil {
				*field(s) = &v
			}
			return err
		},
		func(s Settings) string {
			if p := *field(&s); p != nil {
				return format(*p)
			}
			return ""
		}}
}

// keyNames returns a name of each key.
func keyNames(name func(SettingKey) string) []string {
	var names []string
	for _, k := range SettingKeys() {
		names = append(names, name(k))
	}
	return names
}

// unknownKey returns the error for a key that does not exist, with the one of names that was probably meant.
func unknownKey(key string, names []string) error {
	best, least := "", 3 // more differences are another word
	for _, name := range names {
		if d := differences(strings.ToLower(key), strings.ToLower(name)); d < least {
			best, least = name, d
		}
	}
	if best != "" {
		return settingError("no such setting as %s; did you mean %s?", quoteShort(key), best)
	}
	return settingError("no such setting as %s; SettingKeys has all", quoteShort(key))
}

// differences returns the edit distance of two texts: how many letters are inserted, deleted or replaced.
func differences(a, b string) int {
	if max(len(a), len(b)) > 64 {
		return 64
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			above := row[j+1]
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			row[j+1] = min(above+1, row[j]+1, diagonal+cost)
			diagonal = above
		}
	}
	return row[len(b)]
}
