package cli

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// group returns a number with a comma between each three digits.
func group(n int64) string {
	digits := strconv.FormatInt(n, 10)
	sign := ""
	if n < 0 {
		sign, digits = "-", digits[1:]
	}
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return sign + digits
}

// groupFloat returns a number that is not negative, rounded to an integer if it is at least 100.
func groupFloat(v float64) string {
	switch {
	case v >= 1e15 || math.IsNaN(v):
		return fmt.Sprintf("%.3g", v)
	case v >= 100:
		return group(int64(math.Round(v)))
	}
	return strings.TrimSuffix(strings.TrimRight(strconv.FormatFloat(v, 'f', 2, 64), "0"), ".")
}

// countFloat returns a number with its unit, such as 1 restart or 0.5 restarts.
func countFloat(v float64, unit string) string {
	text := groupFloat(v)
	if text == "1" {
		return text + " " + unit
	}
	return text + " " + unit + "s"
}

// A jsonTime is a time in JSON as in RFC 3339, also beyond the year 9999, for which time.Time has no JSON.
type jsonTime struct{ time.Time }

// MarshalJSON implements json.Marshaler.
func (t jsonTime) MarshalJSON() ([]byte, error) { return json.Marshal(t.Format(time.RFC3339Nano)) }

// years returns a number of years in words.
func years(v float64) string {
	switch {
	case v >= 1000:
		return groupFloat(v) + " years"
	case v >= 2:
		return fmt.Sprintf("%.1f years", v)
	case v*365.25 >= 2:
		return fmt.Sprintf("%.0f days", v*365.25)
	}
	return fmt.Sprintf("%.1f hours", v*365.25*24)
}
