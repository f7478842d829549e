package uid_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/ringuid/ringuid/bitsalloc"
	"github.com/ringuid/ringuid/internal/testkit"
	"github.com/ringuid/ringuid/internal/testkit/mariadbtest"
	"github.com/ringuid/ringuid/internal/testkit/testserver"
	"github.com/ringuid/ringuid/internal/testkit/uniq"
	"github.com/ringuid/ringuid/uid"
	"github.com/ringuid/ringuid/workerassign"
)

// Invariant 1 across processes: eight processes that start at once on one file generate UIDs that all
// differ.
func TestInvariant1ProcessesOnOneFile(t *testing.T) {
	each := testkit.Amount(20_000, 100_000, 250_000)
	if out := testkit.ChildArg(); out != "" {
		if err := generateInto(out, filepath.Join(filepath.Dir(out), "worker"), each); err != nil {
			t.Fatal(err)
		}
		return
	}
	folder := t.TempDir()
	var processes [8]*testkit.Child
	out := func(n int) string { return filepath.Join(folder, strconv.Itoa(n)) }
	for n := range processes {
		processes[n] = testkit.StartChild(t, out(n))
	}
	var seen uniq.Set
	w := seen.Writer()
	for n, process := range processes {
		for line := range process.Lines() {
			t.Errorf("process %d: %s", n, line)
		}
		if err := process.Wait(); err != nil {
			t.Fatalf("process %d: %v", n, err)
		}
		b, err := os.ReadFile(out(n))
		if err != nil {
			t.Fatal(err)
		}
		for last := int64(-1); len(b) > 0; b = b[8:] {
			id := int64(binary.LittleEndian.Uint64(b))
			if id <= last || !w.Add(id) {
				t.Fatalf("process %d generated %d after %d, or another process generated it too", n, id, last)
			}
			last = id
		}
	}
	if n := seen.Len(); n != int64(len(processes)*each) {
		t.Errorf("%d of %d UIDs are distinct", n, len(processes)*each)
	}
}

// generateInto writes UIDs to a file, in the order in which it took them.
func generateInto(out, workers string, count int) error {
	g, err := uid.NewCached(context.Background(), workerassign.NewFile(workers))
	if err != nil {
		return err
	}
	defer g.Close()
	ids := make([]uid.ID, count)
	for n := 0; n < count; {
		if n%3 == 0 {
			if ids[n], err = g.Next(); err != nil {
				return err
			}
			n++
			continue
		}
		got, err := g.NextN(ids[n:min(n+1000, count)])
		if err != nil {
			return err
		}
		n += got
	}
	var b []byte
	for _, id := range ids {
		b = binary.LittleEndian.AppendUint64(b, uint64(id))
	}
	return os.WriteFile(out, b, 0o600)
}

// The main use: worker IDs from inserts into WORKER_NODE on a real server, by a generator that is used as fast as possible.
// When the server is killed after the first insert, UIDs are still generated. When it runs again, rollovers use up as
// many worker IDs as follow from the borrow limit, no call fails, and there is no duplicate. While the server is down again, UIDs
// are generated up to the borrow limit, and then at the layout's rate. At last the generator recovers.
func TestRolloversOnAServer(t *testing.T) {
	testkit.Slow(t, "it starts a server")
	testkit.WithoutRace(t)
	s := mariadbtest.Start(t)
	_, db := s.Database()
	script, err := os.ReadFile("../schema.sql")
	if err != nil {
		t.Fatal(err)
	}
	testserver.RunScript(t, db, string(script))
	layout, err := bitsalloc.New(31, 22, 10)
	if err != nil {
		t.Fatal(err)
	}
	const perSecond, limit = 1024, 40 // the layout's rate, and the borrow limit in seconds
	g, err := uid.NewCached(context.Background(), workerassign.NewDisposable(db),
		uid.WithLayout(layout), uid.WithBoostPower(0), uid.WithMaxBorrow(limit*time.Second))
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	begin := time.Now()
	d, err := uid.NewDefault(context.Background(), workerassign.NewDisposable(db))
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	var (
		seen  uniq.Set
		w     = seen.Writer()
		taken int64
	)
	// take takes UIDs until done returns true. A call may fail only if the server is down.
	take := func(down bool, done func() bool) {
		t.Helper()
		for !done() {
			switch id, err := g.Next(); {
			case err == nil && id >= 0 && w.Add(int64(id)):
				taken++
			case !down || !errors.Is(err, uid.ErrLease) || id != 0:
				t.Fatalf("Next() = %d, %v, or it is a duplicate", id, err)
			}
		}
		if id, err := d.Next(); err != nil || d.Parse(id).WorkerID != 2 {
			t.Fatalf("the Default generator returned %d, %v", id, err)
		}
	}
	takeMore := func(seconds int64) {
		t.Helper()
		enough := taken + seconds*perSecond
		take(false, func() bool { return taken >= enough })
	}
	if got := g.Stats().WorkerID; got != 1 {
		t.Errorf("worker ID %d, want 1", got)
	}
	takeMore(1)
	s.Kill()
	takeMore(limit / 2) // far from the borrow limit; the next worker ID may be asked for
	s.Restart()
	first := g.Stats().Rollovers
	take(true, func() bool { return g.Stats().Rollovers > first }) // the call before may have failed, if the server started slowly
	takeMore(int64(testkit.Size(20, 200) * limit))

	st, took := g.Stats(), time.Since(begin)
	var usedUp, greatest int64
	testkit.Retry(t, "a look at the table between two rollovers", func() error { // the last UIDs can have caused one, in the background
		if err := db.QueryRow("SELECT COUNT(*), MAX(ID) FROM WORKER_NODE").Scan(&usedUp, &greatest); err != nil {
			return err
		}
		if before := st.Rollovers; g.Stats().Rollovers != before {
			st = g.Stats()
			return fmt.Errorf("there were %d rollovers before it, and %d after it", before, st.Rollovers)
		}
		return nil
	})
	// A lease that was changed has been used from the second in which it began up to the borrow limit, and in the seconds that passed meanwhile.
	units := (taken + int64(st.Ring.Dropped)) / perSecond
	least, most := (units-int64(took.Seconds())-1)/(limit+2), units/limit+1
	t.Logf("%d UIDs in %v: %d rollovers", taken, took, st.Rollovers)
	if n := int64(st.Rollovers); n < least || n > most {
		t.Errorf("%d rollovers, want %d to %d", n, least, most)
	}
	// One belongs to the Default generator, one is in use, and the next one may have been assigned.
	if n := usedUp - int64(st.Rollovers); n < 2 || n > 3 || greatest != usedUp || st.WorkerID < greatest-1 {
		t.Errorf("%d worker IDs were used up, up to %d, by %d rollovers to %d", usedUp, greatest, st.Rollovers, st.WorkerID)
	}

	s.Kill()
	down, before := time.Now(), taken
	take(true, func() bool { return time.Since(down) > 3*time.Second })
	// Up to the borrow limit with the lease in use and with the next one, and then at the layout's rate.
	if slow, most := taken-before, int64(perSecond*(2*(limit+1)+int(time.Since(down).Seconds())+2)); slow > most {
		t.Errorf("%d taken while the server was down, want at most %d", slow, most)
	}
	rollovers := g.Stats().Rollovers
	s.Restart()
	take(true, func() bool { return g.Stats().Rollovers > rollovers })
	take(false, func() bool { return g.Stats().Rollovers > rollovers+2 })
}
