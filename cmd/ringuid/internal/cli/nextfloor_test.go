package cli

import (
	"bytes"
	"context"
	"log/slog"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringuid/ringuid/internal/testkit/redistest"
	"github.com/ringuid/ringuid/uid"
	"github.com/ringuid/ringuid/workerassign"
)

// A lease that begins later than --timeout allows, such as the first one of a pool in Redis, is an error at once that names a value that
// is enough. With that value, the command says at once how long it waits.
func TestNextOfLaterLease(t *testing.T) {
	for _, n := range []int{1, 100, 100_000} {
		synctest.Test(t, func(t *testing.T) {
			time.Sleep(time.Until(time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC)))
			begin := time.Now()
			later := laterAssigner{begin: begin.Add(2 * time.Minute), released: new(int)}
			var stderr bytes.Buffer
			a := &App{Context: context.Background(), Stderr: &stderr, Logger: slog.New(slog.DiscardHandler)}
			c := &nextCommand{N: n, Timeout: 30 * time.Second}
			format, err := uid.NewFormat()
			if err != nil {
				t.Fatal(err)
			}
			err = c.generate(a, later, format, make([]uid.ID, n))
			if err == nil || !strings.Contains(err.Error(), "begin 2m0s from now") || !strings.Contains(err.Error(), "ringuid pool create") || !time.Now().Equal(begin) || *later.released != 1 {
				t.Fatalf("%d UIDs: %v after %v, %d leases released", n, err, time.Since(begin), *later.released)
			}
			if stderr.Len() > 0 {
				t.Errorf("%d UIDs: %q", n, &stderr)
			}
			c.Timeout = enough(t, err.Error())
			if err := c.generate(a, later, format, make([]uid.ID, n)); err != nil {
				t.Errorf("%d UIDs with --timeout %v: %v after %v", n, c.Timeout, err, time.Since(begin))
			}
			if !strings.Contains(stderr.String(), "ringuid: waiting: the store's worker IDs begin 2m0s from now") || !strings.Contains(stderr.String(), "ringuid pool create") {
				t.Errorf("%d UIDs: %q", n, &stderr)
			}
		})
	}
}

// enough returns the value of --timeout that the text of an error names.
func enough(t *testing.T, text string) time.Duration {
	t.Helper()
	m := regexp.MustCompile(`--timeout (\S+) is enough`).FindStringSubmatch(text)
	if m == nil {
		t.Fatalf("%q names no value that is enough", text)
	}
	d, err := time.ParseDuration(m[1])
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// A laterAssigner grants leases that begin later.
type laterAssigner struct {
	begin    time.Time
	released *int
}

func (a laterAssigner) Assign(context.Context, workerassign.Request) (workerassign.Lease, error) {
	return a, nil
}

func (a laterAssigner) WorkerID() int64      { return 1 }
func (a laterAssigner) NotBefore() time.Time { return a.begin }
func (a laterAssigner) Reserve(_ context.Context, until time.Time) (workerassign.Grant, error) {
	return workerassign.Grant{Until: until}, nil
}

func (a laterAssigner) Release(context.Context, time.Time) error {
	*a.released++
	return nil
}

// The first next on an empty Redis fails at once, unless --timeout allows it to wait. After pool create nothing waits.
func TestNextEmptyRedis(t *testing.T) {
	t.Parallel()
	store := "redis://" + redistest.Start(t).Address()
	r := run(t, "", nil, "next", "--store", store)
	if r.status != exitFailed || r.stdout != "" || !strings.Contains(r.stderr, "later than --timeout 30s allows") || enough(t, r.stderr) < 110*time.Second {
		t.Errorf("%+v", r)
	}
	if !strings.Contains(r.stderr, "level=WARN") || strings.Contains(r.stderr, "CreatePool") { // the library has logged too
		t.Errorf("%q names what only programs can call", r.stderr)
	}
	for _, line := range [][]string{{"pool", "create"}, {"next"}} {
		if r := run(t, "", nil, append(line, "--store", store+"?pool=other")...); r.status != exitOK || r.stderr != "" {
			t.Errorf("%q: %+v", line, r)
		}
	}
	if r := run(t, "", nil, "next", "--store", store+"?pool=third&horizon=4s&fencing=0s&skew=0s&clock-bound=1s", "--timeout", "5m"); r.status != exitOK {
		t.Errorf("with enough time: %+v", r)
	}
}
