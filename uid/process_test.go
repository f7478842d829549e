package uid_test

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/ringuid/ringuid/bitsalloc"
	"github.com/ringuid/ringuid/internal/mariadbtest"
	"github.com/ringuid/ringuid/internal/testkit"
	"github.com/ringuid/ringuid/internal/uniq"
	"github.com/ringuid/ringuid/uid"
	"github.com/ringuid/ringuid/workerassign"
)

// Invariant 1 across processes: eight processes that start at once on one file generate UIDs that all
// differ.
func TestInvariant1ProcessesOnOneFile(t *testing.T) {
	processes, each := 8, 250_000
	if testing.Short() {
		processes, each = 3, 20_000
	}
	if path := os.Getenv("RINGUID_TEST_FILE"); path != "" {
		if err := generateInto(os.Getenv("RINGUID_TEST_OUT"), path, each); err != nil {
			t.Fatal(err)
		}
		return
	}
	folder := t.TempDir()
	out := func(n int) string { return filepath.Join(folder, "out"+string(rune('0'+n))) }
	var all sync.WaitGroup
	for n := range processes {
		all.Go(func() {
			cmd := exec.Command(os.Args[0], "-test.run=^TestInvariant1ProcessesOnOneFile$", "-test.count=1", fmt.Sprintf("-test.short=%v", testing.Short()))
			cmd.Env = append(os.Environ(), "RINGUID_TEST_FILE="+filepath.Join(folder, "worker"), "RINGUID_TEST_OUT="+out(n))
			if text, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("process %d: %v\n%s", n, err, text)
			}
		})
	}
	all.Wait()
	var seen uniq.Set
	w := seen.Writer()
	for n := range processes {
		file, err := os.Open(out(n))
		if err != nil {
			t.Fatal(err)
		}
		r, last := bufio.NewReader(file), int64(-1)
		for {
			var id int64
			if err := binary.Read(r, binary.LittleEndian, &id); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatal(err)
			}
			if id <= last || !w.Add(id) {
				t.Fatalf("process %d generated %d after %d, or another process generated it too", n, id, last)
			}
			last = id
		}
		file.Close()
	}
	if n := seen.Len(); n != int64(processes*each) {
		t.Errorf("%d of %d UIDs are distinct", n, processes*each)
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
	file, err := os.Create(out)
	if err != nil {
		return err
	}
	return errors.Join(binary.Write(file, binary.LittleEndian, ids), file.Close())
}

// The main use: worker IDs from inserts into WORKER_NODE on a real server. When the server is killed
// after the first insert, UIDs are still generated. Rollovers follow when it runs again.
func TestServerKilledAfterAssignment(t *testing.T) {
	testkit.Slow(t, "it starts a server")
	s := mariadbtest.Start(t)
	_, db := s.Database()
	script, err := os.ReadFile("../schema.sql")
	if err != nil {
		t.Fatal(err)
	}
	mariadbtest.RunScript(t, db, string(script))
	const borrowLimit = 40 * time.Second
	g, err := uid.NewCached(context.Background(), workerassign.NewDisposable(db), uid.WithMaxBorrow(borrowLimit))
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	d, err := uid.NewDefault(context.Background(), workerassign.NewDisposable(db))
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	var (
		seen uniq.Set
		w    = seen.Writer()
		ids  = make([]uid.ID, 1000)
	)
	take := func(seconds int) {
		t.Helper()
		for range seconds * 8 {
			if n, err := g.NextN(ids); n != len(ids) || err != nil {
				t.Fatalf("NextN() = %d, %v", n, err)
			}
			for _, id := range ids {
				if !w.Add(int64(id)) {
					t.Fatalf("%d was returned twice", id)
				}
			}
		}
		if id, err := d.Next(); err != nil || d.Parse(id).WorkerID != 2 {
			t.Fatalf("the Default generator returned %d, %v", id, err)
		}
	}
	if got := g.Stats().WorkerID; got != 1 {
		t.Errorf("worker ID %d, want 1", got)
	}
	take(1)
	s.Kill()
	take(20) // far from the borrow limit, so the server is not used
	s.Restart()
	take(200)
	st := g.Stats()
	if st.Rollovers < 3 || st.WorkerID < 4 {
		t.Errorf("Stats() = %+v, want at least 3 rollovers", st)
	}
	var greatest int64
	if err := db.Get(&greatest, "SELECT MAX(ID) FROM WORKER_NODE"); err != nil || greatest < st.WorkerID || greatest > st.WorkerID+1 {
		t.Errorf("the greatest worker ID is %d, %v; the generator has %d", greatest, err, st.WorkerID)
	}
}

// Ten times the layout's rate, on a real server: there are rollovers, which use up worker IDs at the
// predicted rate, no call fails, and there is no duplicate. While the server is down, UIDs are
// generated up to the borrow limit, and then at the layout's rate. When the server runs again, the
// generator recovers. The test takes a few seconds, or a minute if RINGUID_MINUTE is set.
func TestRolloversOnAServer(t *testing.T) {
	testkit.Slow(t, "it starts a server, and takes 10 s")
	length := 4 * time.Second
	if os.Getenv("RINGUID_MINUTE") != "" {
		length = time.Minute
	}
	s := mariadbtest.Start(t)
	_, db := s.Database()
	script, err := os.ReadFile("../schema.sql")
	if err != nil {
		t.Fatal(err)
	}
	mariadbtest.RunScript(t, db, string(script))
	layout, err := bitsalloc.New(31, 22, 10)
	if err != nil {
		t.Fatal(err)
	}
	const borrowLimit, rate = 4 * time.Second, 10 * 1024
	g, err := uid.NewCached(context.Background(), workerassign.NewDisposable(db, workerassign.WithAttemptTimeout(time.Second)),
		uid.WithLayout(layout), uid.WithBoostPower(0), uid.WithMaxBorrow(borrowLimit))
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	var seen uniq.Set
	w := seen.Writer()
	// generate takes UIDs at the rate for a time. It returns how many calls succeeded and failed.
	generate := func(d time.Duration) (taken, failed int) {
		t.Helper()
		for begin := time.Now(); time.Since(begin) < d; {
			if taken+failed > int(time.Since(begin).Seconds()*rate) {
				time.Sleep(time.Millisecond)
				continue
			}
			id, err := g.Next()
			if err != nil {
				if !errors.Is(err, uid.ErrLease) || id != 0 {
					t.Fatalf("Next() = %d, %v", id, err)
				}
				failed++
				continue
			}
			if id < 0 || !w.Add(int64(id)) {
				t.Fatalf("%d was returned twice", id)
			}
			taken++
		}
		return taken, failed
	}

	begin := time.Now()
	if taken, failed := generate(length); failed != 0 || taken < int(length.Seconds()*rate*9/10) {
		t.Errorf("%d taken, %d failed", taken, failed)
	}
	// A lease lasts for the seconds from now up to the borrow limit, which are five, and for those that
	// pass meanwhile: 1,024 (5 + t) = 10,240 t.
	predicted := time.Since(begin).Seconds() / (5. / 9)
	var usedUp float64
	if err := db.Get(&usedUp, "SELECT COUNT(*) FROM WORKER_NODE"); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d rollovers, %.0f worker IDs used up, %.1f predicted", g.Stats().Rollovers, usedUp, predicted)
	if usedUp < predicted*0.75-2 || usedUp > predicted*1.25+2 {
		t.Errorf("%.0f worker IDs were used up, %.1f predicted", usedUp, predicted)
	}

	s.Kill()
	down := time.Now()
	slow, failed := generate(4 * time.Second)
	// Up to the borrow limit with the lease in use and with the next one, and then at the layout's rate.
	if most := 1024 * (2*5 + int(time.Since(down).Seconds()) + 2); slow > most {
		t.Errorf("%d taken while the server was down, want at most %d", slow, most)
	}
	before := g.Stats().Rollovers
	s.Restart()
	for deadline := time.Now().Add(time.Minute); g.Stats().Rollovers == before && time.Now().Before(deadline); {
		generate(100 * time.Millisecond)
	}
	taken, again := generate(2 * time.Second)
	t.Logf("while the server was down: %d taken, %d failed; after that: %d taken, %d failed", slow, failed, taken, again)
	if again != 0 || g.Stats().Rollovers < before+2 {
		t.Errorf("after the server was restarted: %d calls failed, %d rollovers", again, g.Stats().Rollovers-before)
	}
}
