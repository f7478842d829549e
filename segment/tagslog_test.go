package segment

import (
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringuid/ringuid/internal/testkit"
)

// Failures of tags are at most one record per second, with their number: the first one at once, and the others a second
// later, first those that failed. Close writes what is left.
func TestTagsLogInterval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out testkit.Buffer
		work := newBackground()
		l := newTagsLog(slog.New(slog.NewTextHandler(&out, nil)), work)
		want := func(records ...string) {
			t.Helper()
			synctest.Wait()
			lines := strings.Split(strings.TrimSpace(out.String()), "\n")
			if len(lines) != len(records) {
				t.Fatalf("%d records, want %d:\n%s", len(lines), len(records), out.String())
			}
			for i, r := range records {
				for part := range strings.FieldsSeq(r) {
					if !strings.Contains(lines[i], part) {
						t.Errorf("record %d is %s; want %s", i, lines[i], part)
					}
				}
			}
		}
		one, two, works := "WARN tags=1 tag=a source=s err=", "WARN tags=2 tag=c", "INFO again tags=2 tag=b"
		for range 3 { // after any pause
			out = testkit.Buffer{}
			l.tagFailed("a", "s", errDown)
			want(one)
			l.tagFailed("b", "s", errDown)
			l.tagWorks("a", "s")
			l.tagFailed("c", "s", errDown)
			l.tagWorks("b", "s")
			time.Sleep(time.Second - time.Nanosecond)
			want(one)
			time.Sleep(time.Nanosecond)
			want(one, two)
			time.Sleep(time.Second - time.Nanosecond)
			want(one, two)
			time.Sleep(time.Nanosecond)
			want(one, two, works)
			time.Sleep(1500 * time.Millisecond)
		}
		l.tagFailed("a", "s", errDown)
		synctest.Wait()
		out = testkit.Buffer{}
		l.tagFailed("b", "s", errDown)
		l.tagWorks("a", "s")
		<-work.close()
		l.close()
		want("WARN tags=1 tag=b", "INFO tags=1 tag=a")
	})
}
