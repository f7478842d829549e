package settings

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/ringuid/ringuid/uid"
)

// wrong returns an error that has the beginning of a value, and says what it must be.
func wrong(text, format string, args ...any) error {
	return fmt.Errorf("is %s; must %s", quoteShort(text), fmt.Sprintf(format, args...))
}

// quoteShort quotes a text of any length for an error.
func quoteShort(text string) string {
	const shown = 32
	if len(text) > shown {
		return fmt.Sprintf("%q…", text[:shown])
	}
	return fmt.Sprintf("%q", text)
}

func parseInt(text string) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 || strconv.Itoa(n) != text {
		return 0, wrong(text, "be a decimal number without a sign, spaces or leading zeros")
	}
	return n, nil
}

func parseDuration(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return 0, wrong(text, "be a duration from 0 with a unit, such as 500ms, 3s or 1h")
	}
	return d, nil
}

func parsePositive(text string) (time.Duration, error) {
	d, err := parseDuration(text)
	if err == nil && d == 0 {
		err = errors.New("is 0; must be greater, or left out for the default")
	}
	return d, err
}

func parseBool(text string) (bool, error) {
	if text != "true" && text != "false" {
		return false, wrong(text, "be true or false")
	}
	return text == "true", nil
}

func formatTime(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }

func readEpoch(text string) (string, any, error) {
	epoch, err := time.Parse(time.RFC3339, text)
	if err != nil || epoch.IsZero() {
		return "", nil, wrong(text, "be a time such as 2026-01-01T00:00:00Z")
	}
	return formatTime(epoch), uid.WithEpoch(epoch), nil
}

func readTakePolicy(text string) (string, any, error) {
	switch text {
	case "caller_pads":
		return text, uid.WithTakePolicy(uid.CallerPads), nil
	case "wait":
		return text, uid.WithTakePolicy(uid.Wait), nil
	case "fail":
		return text, uid.WithTakePolicy(uid.Fail), nil
	}
	return "", nil, wrong(text, "be caller_pads, wait or fail")
}

func readRollback(text string) (string, any, error) {
	const waitOut = "wait_out:"
	rest, isWaitOut := strings.CutPrefix(text, waitOut)
	bound, err := parseDuration(rest)
	switch {
	case text == "ride_out":
		return text, uid.WithRollback(uid.RideOut()), nil
	case text == "refuse":
		return text, uid.WithRollback(uid.Refuse()), nil
	case isWaitOut && err == nil:
		return waitOut + bound.String(), uid.WithRollback(uid.WaitOut(bound)), nil
	}
	return "", nil, wrong(text, "be ride_out, refuse, or wait_out with a bound, as in wait_out:5s")
}

// filePrefix begins a store that is a file.
const filePrefix = "file:"

// isFileStore reports whether a store is a file.
func isFileStore(store string) bool { return strings.HasPrefix(store, filePrefix) }

// storeFile returns the path of a store that is a file. The text is file: and the path, or a URL with the scheme file.
func storeFile(store string) (path string, err error) {
	path = strings.TrimPrefix(store, filePrefix)
	if after, isURL := strings.CutPrefix(path, "//"); isURL {
		if path = after; !strings.HasPrefix(path, "/") {
			return "", wrong(store, "have no host, as in file:///var/lib/myservice/worker")
		}
	}
	if strings.ContainsAny(path, "%?#") {
		// Programs that read it as a URL would use another file, and assign the same worker IDs from there.
		return "", fmt.Errorf("is %s; the path must not contain %%, ? or #, which have a meaning in URLs", quoteShort(store))
	}
	if path == "" || strings.HasSuffix(path, "/") || strings.ContainsRune(path, 0) {
		return "", wrong(store, "have the path of a file, as in file:/var/lib/myservice/worker")
	}
	return path, nil
}

func checkStore(text string) error {
	switch {
	case text == "":
		return errors.New("is empty; must be file: and a path, or what the program opens")
	case isFileStore(text):
		_, err := storeFile(text)
		return err
	case strings.HasPrefix(text, "/"), strings.HasPrefix(text, "."): // the command ringuid reads it as a path
		return wrong(text, "be file: and the path, as in file:/var/lib/myservice/worker")
	}
	return nil
}

// ordinal is the worker_id that stands for the number of a StatefulSet's pod.
const ordinal = "ordinal"

func checkWorkerID(text string) error {
	if text == ordinal {
		return nil
	}
	if _, err := uid.ParseID(text); err != nil { // for its strictness
		return wrong(text, "be a decimal number from 0 without leading zeros, or %s", ordinal)
	}
	return nil
}

func checkWorkerName(text string) error {
	if text == "" {
		return errors.New("is empty; must be a name, or left out")
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
	id, numberErr := uid.ParseID(first)
	bits, err = parseInt(second)
	if !ok || numberErr != nil || err != nil || bits < 1 || bits > 61 || int64(id) >= 1<<bits {
		return 0, 0, wrong(text, "be a number and the bits that it fits into, as in 5/3")
	}
	return int64(id), bits, nil
}

func checkNumber(text string) error {
	_, err := parseInt(text)
	return err
}
