package uid

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/ringuid/ringuid/bitsalloc"
)

// settingError returns an error for the value of a key.
func settingError(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrOption}, args...)...)
}

func parseInt(text string) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 || strconv.Itoa(n) != text {
		return 0, settingError("is %s; must be a decimal number without a sign, spaces or leading zeros", quoteShort(text))
	}
	return n, nil
}

func parseDuration(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return 0, settingError("is %s; must be a duration from 0 with a unit, such as 500ms, 3s or 1h", quoteShort(text))
	}
	return d, nil
}

func parseBool(text string) (bool, error) {
	if text != "true" && text != "false" {
		return false, settingError("is %s; must be true or false", quoteShort(text))
	}
	return text == "true", nil
}

// oneOf returns the check of a text that must be one of some values.
func oneOf(values ...string) func(string) error {
	return func(text string) error {
		for _, v := range values {
			if text == v {
				return nil
			}
		}
		last := len(values) - 1
		return settingError("is %s; must be %s or %s", quoteShort(text), strings.Join(values[:last], ", "), values[last])
	}
}

func setLayout(s *Settings, text string) (err error) {
	layout, err := bitsalloc.ParseLayout(text)
	if err != nil {
		return settingError("%w", err)
	}
	s.Layout = layout
	return nil
}

func getLayout(s Settings) string {
	if s.Layout.IsZero() {
		return ""
	}
	return s.Layout.String()
}

func setEpoch(s *Settings, text string) error {
	epoch, err := time.Parse(time.RFC3339, text)
	if err != nil || epoch.IsZero() {
		return settingError("is %s; must be a time such as 2026-01-01T00:00:00Z", quoteShort(text))
	}
	s.Epoch = epoch.UTC()
	return nil
}

func getEpoch(s Settings) string {
	if s.Epoch.IsZero() {
		return ""
	}
	return s.Epoch.UTC().Format(time.RFC3339Nano)
}

func setTakePolicy(s *Settings, text string) error {
	for _, p := range namedTakePolicies() {
		if p.name == text {
			s.TakePolicy = p.policy
			return nil
		}
	}
	return settingError("is %s; must be caller_pads, wait or fail", quoteShort(text))
}

// getTakePolicy returns the name of a policy of the library; "" for another one.
func getTakePolicy(s Settings) string {
	for _, p := range namedTakePolicies() {
		if s.TakePolicy == p.policy {
			return p.name
		}
	}
	return ""
}

type namedTakePolicy struct {
	name   string
	policy TakePolicy
}

func namedTakePolicies() []namedTakePolicy {
	return []namedTakePolicy{{"caller_pads", CallerPads}, {"wait", Wait}, {"fail", Fail}}
}

func setRollback(s *Settings, text string) error {
	name, rest, hasBound := strings.Cut(text, ":")
	bound, err := parseDuration(rest)
	switch {
	case text == "ride_out":
		s.Rollback = RideOut()
	case text == "refuse":
		s.Rollback = Refuse()
	case name == "wait_out" && hasBound && err == nil:
		s.Rollback = WaitOut(bound)
	default:
		return settingError("is %s; must be ride_out, refuse, or wait_out with a bound, as in wait_out:5s", quoteShort(text))
	}
	return nil
}

func getRollback(s Settings) string {
	switch s.Rollback {
	case RollbackPolicy{}:
		return ""
	case RideOut():
		return "ride_out"
	case Refuse():
		return "refuse"
	}
	return "wait_out:" + s.Rollback.bound.String()
}

// filePrefix begins a Store that is a file.
const filePrefix = "file:"

// isFileStore reports whether a Store is a file.
func isFileStore(store string) bool { return strings.HasPrefix(store, filePrefix) }

// storeFile returns the path of a Store that is a file. The text is file: and the path, or a URL with the scheme file.
func storeFile(store string) (path string, err error) {
	path = strings.TrimPrefix(store, filePrefix)
	if after, isURL := strings.CutPrefix(path, "//"); isURL {
		if path = after; !strings.HasPrefix(path, "/") {
			return "", settingError("is %s; must have no host, as in file:///var/lib/myservice/worker", quoteShort(store))
		}
	}
	if strings.ContainsAny(path, "%?#") {
		// Programs that read it as a URL would use another file, and assign the same worker IDs from there.
		return "", settingError("is %s; the path must not contain %%, ? or #, which have a meaning in URLs", quoteShort(store))
	}
	if path == "" || strings.HasSuffix(path, "/") || strings.ContainsRune(path, 0) {
		return "", settingError("is %s; must have the path of a file, as in file:/var/lib/myservice/worker", quoteShort(store))
	}
	return path, nil
}

func checkStore(text string) error {
	switch {
	case text == "":
		return settingError("is empty; must be file: and a path, or what the program opens")
	case isFileStore(text):
		_, err := storeFile(text)
		return err
	case strings.HasPrefix(text, "/"), strings.HasPrefix(text, "."): // the command ringuid reads it as a path
		return settingError("is %s; must be file: and the path, as in file:/var/lib/myservice/worker", quoteShort(text))
	}
	return nil
}

// ordinal is the WorkerID that stands for the number of a StatefulSet's pod.
const ordinal = "ordinal"

func checkWorkerID(text string) error {
	if text == ordinal {
		return nil
	}
	if _, err := ParseID(text); err != nil { // for its strictness
		return settingError("is %s; must be a decimal number from 0 without leading zeros, or %s", quoteShort(text), ordinal)
	}
	return nil
}

func checkWorkerName(text string) error {
	if text == "" {
		return settingError("is empty; must be a name, or left out")
	}
	return nil
}

func checkWorkerPrefix(text string) error {
	_, _, err := parsePrefix(text)
	return err
}

// parsePrefix reads a number and its width, as in 5/3.
func parsePrefix(text string) (number int64, bits int, err error) {
	first, second, ok := strings.Cut(text, "/")
	id, numberErr := ParseID(first)
	bits, err = parseInt(second)
	if !ok || numberErr != nil || err != nil || bits < 1 || bits > 61 || int64(id) >= 1<<bits {
		return 0, 0, settingError("is %s; must be a number and the bits that it fits into, as in 5/3", quoteShort(text))
	}
	return int64(id), bits, nil
}

// redacted stands for a password.
const redacted = "xxxxx"

// redact replaces what may be a secret in a Store that is a URL or a DSN: what stands between the first colon and the last @,
// the values of a query, and everything behind "password". It may replace more than that.
func redact(store string) string {
	if isFileStore(store) {
		return store
	}
	scheme, rest, isURL := strings.Cut(store, "://")
	if isURL && !strings.ContainsAny(scheme, ":@/?= ") { // otherwise it may be a part of a password
		scheme += "://"
	} else {
		scheme, rest = "", store
	}
	if at := strings.LastIndexByte(rest, '@'); at >= 0 {
		if user, _, hasPassword := strings.Cut(rest[:at], ":"); hasPassword {
			rest = user + ":" + redacted + rest[at:]
		}
	}
	rest, query, hasQuery := strings.Cut(rest, "?")
	if hasQuery {
		pairs := strings.Split(query, "&")
		for i, pair := range pairs {
			if name, _, hasValue := strings.Cut(pair, "="); hasValue {
				pairs[i] = name + "=" + redacted
			}
		}
		rest += "?" + strings.Join(pairs, "&")
	}
	return redactPassword(scheme + rest)
}

// redactPassword replaces everything behind the first "password" that an equals sign follows, perhaps after spaces.
func redactPassword(text string) string {
	const name = "password"
	for i := range len(text) - len(name) + 1 {
		if !strings.EqualFold(text[i:i+len(name)], name) {
			continue
		}
		if value, found := strings.CutPrefix(strings.TrimLeft(text[i+len(name):], " \t\r\n"), "="); found {
			return text[:len(text)-len(value)] + redacted
		}
	}
	return text
}
