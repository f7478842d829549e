package readme

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ringuid/ringuid/uid"
	"github.com/ringuid/ringuid/workerassign"
)

var amount = regexp.MustCompile(`^([0-9]+) (s|min)\b`)

// duration returns the duration at the beginning of a text.
func duration(t *testing.T, text string) time.Duration {
	t.Helper()
	if strings.HasPrefix(text, "an hour") {
		return time.Hour
	}
	m := amount.FindStringSubmatch(text)
	if m == nil {
		t.Fatalf("%q does not begin with a duration", text)
	}
	n, _ := strconv.Atoi(m[1])
	if m[2] == "min" {
		return time.Duration(n) * time.Minute
	}
	return time.Duration(n) * time.Second
}

// The table of settings in doc/fleet.md has the defaults of the packages.
func TestDefaultsOfFleet(t *testing.T) {
	want := map[string]time.Duration{
		"`WithHorizon`": workerassign.DefaultHorizon, "`WithFencing`": workerassign.DefaultFencing, "`WithSkew`": workerassign.DefaultSkew,
		"`WithClockBound`": workerassign.DefaultClockBound, "`uid.WithReserveAhead`": uid.DefaultReserveAhead, "`uid.WithMaxBorrow`": uid.DefaultMaxBorrow,
	}
	rows := tables(t, "doc/fleet.md", "", "what it is", "option", "default")
	for _, row := range rows {
		if value, known := want[row[2]]; !known || duration(t, row[3]) != value {
			t.Errorf("%s has the default %s, and the package %v", row[2], row[3], value)
		}
	}
	if len(rows) != len(want) {
		t.Errorf("the table has %d options, want %d", len(rows), len(want))
	}
}

// The examples of settings in doc/fleet.md are calculated by its inequalities.
func TestExamplesOfSettings(t *testing.T) {
	const (
		unit    = time.Second
		fencing = workerassign.DefaultFencing
		skew    = workerassign.DefaultSkew
		bound   = workerassign.DefaultClockBound
	)
	rows := map[string][]string{}
	for _, row := range tables(t, "doc/fleet.md", "", "defaults", "quick restarts", "long outages") {
		name, _, _ := strings.Cut(strings.TrimPrefix(row[0], "the "), " ")
		switch {
		case strings.Contains(row[0], "after a clean end"):
			name = "clean"
		case strings.Contains(row[0], "F + H + M"):
			name = "floor"
		}
		rows[name] = row
	}
	boost := regexp.MustCompile(`\(([0-9]+)\)`)
	for column := 1; column <= 3; column++ {
		value := func(row string) time.Duration {
			t.Helper()
			if len(rows[row]) != 4 {
				t.Fatalf("the row %q has %d cells", row, len(rows[row]))
			}
			return duration(t, rows[row][column])
		}
		reserve, borrow, ring := value("R"), value("borrow"), value("ring")
		power, err := strconv.Atoi(boost.FindStringSubmatch(rows["ring"][column])[1])
		if err != nil {
			t.Fatal(err)
		}
		ahead := reserve * 3 / 2
		horizon := bound + borrow + ahead + unit
		for name, want := range map[string]time.Duration{
			"ring": unit << power, "least": horizon, "floor": fencing + horizon + skew, "clean": borrow,
			"after": borrow + ahead + unit + bound + skew, "time": time.Duration(math.Ceil(ahead.Seconds()/4)) * time.Second,
		} {
			if got := value(name); got != want {
				t.Errorf("%q, column %d: %v, want %v", rows[name][0], column, got, want)
			}
		}
		if borrow < 2*ring {
			t.Errorf("column %d: the borrow limit %v is less than twice the ring %v", column, borrow, ring)
		}
		if column == 1 && (reserve != uid.DefaultReserveAhead || horizon != workerassign.DefaultHorizon || power != uid.DefaultBoostPower) {
			t.Errorf("the defaults are %v, %v and %d", reserve, horizon, power)
		}
	}

	// The pool of the page's commands and of its SQL statement, with which a generator with the default options rolls over.
	text := read(t, "doc/fleet.md")
	pool := regexp.MustCompile(`\?horizon=([0-9]+)s&fencing=([0-9]+)s&skew=([0-9]+)s&clock-bound=([0-9]+)s`).FindStringSubmatch(text)
	if pool == nil {
		t.Fatal("no command has the parameters of a pool")
	}
	if statement := fmt.Sprintf("horizon_ms = %s000, fencing_ms = %s000, skew_ms = %s000", pool[1], pool[2], pool[3]); !strings.Contains(text, statement) {
		t.Errorf("the command has %s, and the page no statement with %s", pool[0], statement)
	}
	horizon := duration(t, pool[1]+" s")
	if least := duration(t, pool[4]+" s") + 2*(unit<<uid.DefaultBoostPower) + uid.DefaultReserveAhead*3/2 + unit; horizon < least {
		t.Errorf("the horizon of %s is less than %v", pool[0], least)
	}
}
