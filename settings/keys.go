package settings

import (
	"fmt"
	"strings"
	"time"

	"github.com/ringuid/ringuid/bitsalloc"
	"github.com/ringuid/ringuid/uid"
)

// Prefix is the usual prefix of the environment variables that ReadEnv reads.
const Prefix = "RINGUID_"

// A Key describes a key of Settings, for the help of a program, its flags and its documentation.
type Key struct {
	Name    string // in JSON, YAML and Set: in snake case, such as "boost_power"
	Usage   string // what it sets, and what its values look like
	Default string // the value without the key, as text; "": none, or off. InForce has the one with other keys.
}

// Env returns the name of the environment variable with a prefix: RINGUID_BOOST_POWER with Prefix.
func (k Key) Env(prefix string) string { return prefix + strings.ToUpper(k.Name) }

// Keys returns all keys, in the order in which they are printed.
func Keys() []Key {
	var keys []Key
	for _, k := range table() {
		keys = append(keys, k.Key)
	}
	return keys
}

// A row is a key, and what its values mean. Everything that depends on the keys is derived from the table of rows.
type row struct {
	Key
	only string // the generator on which it has an effect; "": both
	read reader
}

// A reader returns the usual way to write a value, and the option of package uid that it is. usual is "" if the value means
// the same as leaving out the key. opt is nil for the keys of the assigner.
type reader func(text string) (usual string, opt any, err error)

// The values of the key generator.
const (
	generatorCached  = "cached"
	generatorDefault = "default"
)

// table returns all keys, in the order in which they are printed.
func table() []row {
	const both, cached = "", generatorCached
	return []row{
		{Key{"generator", "kind: cached or default", generatorCached}, both, word(generatorCached, generatorDefault)},

		{Key{"layout", "the widths of sign, time, worker ID and sequence, as in 1-28-22-13", bitsalloc.Default().String()},
			both, option(bitsalloc.ParseLayout, uid.WithLayout)},
		{Key{"epoch", "the instant that time counts from, as in 2026-01-01T00:00:00Z", formatTime(uid.DefaultEpoch())},
			both, alone(readEpoch)},
		{Key{"time_unit", "the unit of time, from 1ms to 1s", time.Second.String()}, both, alone(option(parsePositive, uid.WithTimeUnit))},

		{Key{"boost_power", fmt.Sprintf("the size of the ring, which is 2^boost_power time units: 0 to %d", uid.MaxBoostPower), fmt.Sprint(uid.DefaultBoostPower)},
			cached, alone(option(parseInt, uid.WithBoostPower))},
		{Key{"padding_factor", "the percentage of the ring below which it is padded: 1 to 99", fmt.Sprint(uid.DefaultPaddingFactor)},
			cached, alone(option(parseInt, uid.WithPaddingFactor))},
		{Key{"schedule_interval", "the time between scheduled paddings, as in 1s; 0 turns them off", uid.DefaultScheduleInterval.String()},
			cached, option(parseDuration, uid.WithScheduleInterval)},
		{Key{"max_staleness", "how far the time of a UID may lie behind the clock, as in 3s", uid.DefaultMaxStaleness.String()},
			cached, option(parsePositive, uid.WithMaxStaleness)},
		{Key{"max_borrow", "how far the time of a UID may lie ahead of the clock, as in 1h", uid.DefaultMaxBorrow.String()},
			cached, option(parseDuration, uid.WithMaxBorrow)},
		{Key{"rollover", "whether another lease is taken at the borrow limit: true or false", "true"},
			cached, option(parseBool, uid.WithRollover)},
		{Key{"rollover_interval", "the least time between two such changes, as in 1h; 0 for no limit", ""},
			cached, option(parseDuration, uid.WithRolloverInterval)},
		{Key{"reserve_ahead", "how far ahead of need the time of a lease is reserved, as in 30s", uid.DefaultReserveAhead.String()},
			both, option(parsePositive, uid.WithReserveAhead)},
		{Key{"take_policy", "what happens when the ring is empty: caller_pads, wait or fail", "caller_pads"}, cached, readTakePolicy},
		{Key{"rollback", "what the generator default does when the clock is set back: ride_out, refuse, or wait_out with a bound, as in wait_out:5s", "ride_out"},
			generatorDefault, readRollback},
		{Key{"spread", "the number of bits over which the first sequence of a time unit varies; 0 for none", ""},
			both, zeroIsNone(option(parseInt, uid.WithSpread))},

		{Key{"assigner", "where the worker ID comes from: disposable, recycled or static", ""}, both, word(kindDisposable, kindRecycled, kindStatic)},
		{Key{"store", "what the assigner keeps worker IDs in: file: and a path, or what the program opens", ""}, both, text(checkStore)},
		{Key{"worker_id", "the worker ID: a number, or ordinal for that of a StatefulSet's pod", ""}, both, text(checkWorkerID)},
		{Key{"worker_name", "the name of a recycled worker ID, which is the same again after a restart", ""}, both, text(checkWorkerName)},
		{Key{"worker_prefix", "the upper bits of the worker IDs: 5/3 is the number 5 in 3 bits", ""}, both, text(checkWorkerPrefix)},
		{Key{"worker_divide", "the number of bits by which each worker ID is divided into many; 0 for none", ""},
			both, zeroIsNone(text(checkNumber))},
	}
}

// option returns the reader of an option.
func option[T, O any](parse func(string) (T, error), with func(T) O) reader {
	return func(text string) (string, any, error) {
		v, err := parse(text)
		if err != nil {
			return "", nil, err
		}
		return fmt.Sprint(v), with(v), nil
	}
}

// alone returns a reader of an option that package uid checks whatever the others are.
func alone(read reader) reader {
	return func(text string) (string, any, error) {
		usual, opt, err := read(text)
		if o, ok := opt.(uid.Option); ok && err == nil {
			_, _, err = uid.CachedBounds(o)
		}
		return usual, opt, err
	}
}

// zeroIsNone returns a reader of numbers for which 0 means the same as leaving out the key.
func zeroIsNone(read reader) reader {
	return func(text string) (string, any, error) {
		if text == "0" {
			return "", nil, nil
		}
		return read(text)
	}
}

// text returns the reader of a text for the assigner.
func text(check func(string) error) reader {
	return func(text string) (string, any, error) { return text, nil, check(text) }
}

// word returns the reader of one of some words.
func word(words ...string) reader {
	return text(func(text string) error {
		for _, w := range words {
			if text == w {
				return nil
			}
		}
		last := len(words) - 1
		return wrong(text, "be %s or %s", strings.Join(words[:last], ", "), words[last])
	})
}

// keyNames returns the names of all keys.
func keyNames() []string {
	var names []string
	for _, k := range table() {
		names = append(names, k.Name)
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
		return fmt.Errorf("no such setting as %s; did you mean %s?", quoteShort(key), best)
	}
	return fmt.Errorf("no such setting as %s; settings.Keys returns all", quoteShort(key))
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
