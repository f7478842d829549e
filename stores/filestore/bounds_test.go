package filestore

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ringuid/ringuid/internal/lockedfile"
	"github.com/ringuid/ringuid/internal/testkit/slottest"
	"github.com/ringuid/ringuid/workerassign"
	"github.com/ringuid/ringuid/workerassign/recycled"
)

// The error of a content that no store wrote names the line. Two slots must not have one worker ID.
func TestSlotFileWrongLines(t *testing.T) {
	c := slotFileExample()
	c.slots = c.slots[:3]
	for line := range 5 {
		content, _ := lockedfile.CutChecksum(c.encode())
		lines := bytes.SplitAfter(content, []byte("\n"))
		lines[line] = append([]byte("x"), lines[line]...)
		_, err := decodeSlotFile(lockedfile.AppendChecksum(bytes.Join(lines, nil)))
		if want := fmt.Sprintf("(line %d)", line+1); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("with a wrong line %d: %v; want %q", line+1, err, want)
		}
	}
	for _, workerIDs := range [][]int64{{1, 1, 2}, {1, 2, 2}, {1, 0, 2}} {
		for i, id := range workerIDs {
			c.slots[i].WorkerID = id
		}
		if got, err := decodeSlotFile(c.encode()); err == nil {
			t.Errorf("slots with the worker IDs %d are decoded: %+v", workerIDs, got)
		}
	}
}

// The greatest duration that fits is kept, and a greater one is refused.
func TestSlotFileGreatestDuration(t *testing.T) {
	const most = math.MaxInt64 / int64(time.Millisecond)
	c := &slotFileContent{history: "H", pool: recycled.Pool{Revision: 1, History: "H", Since: time.UnixMilli(0).UTC(), Horizon: time.Duration(most) * time.Millisecond}}
	content := c.encode()
	if got, err := decodeSlotFile(content); err != nil || got.pool.Horizon != c.pool.Horizon {
		t.Errorf("%+v, %v; want the horizon %v", got, err, c.pool.Horizon)
	}
	for _, wrong := range []int64{most + 1, math.MaxInt64, -1} {
		content, _ := lockedfile.CutChecksum(content)
		content = bytes.Replace(content, []byte(strconv.FormatInt(most, 10)), []byte(strconv.FormatInt(wrong, 10)), 1)
		if got, err := decodeSlotFile(lockedfile.AppendChecksum(content)); err == nil {
			t.Errorf("a horizon of %d ms is decoded: %+v", wrong, got)
		}
	}
}

// A file that is corrupt remains so: each call returns an error.
func TestSlotFileRemainsCorrupt(t *testing.T) {
	path := filepath.Join(t.TempDir(), "slots")
	s := New(path, quiet)
	newSlotsForTest(t, s, 1)
	if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if state, err := s.Read(t.Context(), recycled.Query{All: true}); !errors.Is(err, workerassign.ErrCorrupt) {
			t.Errorf("Read() = %+v, %v; want ErrCorrupt", state, err)
		}
	}
}

// A query selects the slots that are asked for, and no more free ones than that.
func TestSlotFileQueries(t *testing.T) {
	s := New(filepath.Join(t.TempDir(), "slots"), quiet)
	state := newSlotsForTest(t, s, 6)
	w := recycled.Write{History: state.History, Replaced: state.Slots}
	for i, slot := range state.Slots {
		next := nextSlot(slot, "")
		next.FreeAt = time.Now().Add(-time.Hour)
		if i < 2 {
			next.FreeAt, next.Holder.Name = time.Now().Add(time.Hour), fmt.Sprint("name", i)
		}
		w.Slots = append(w.Slots, next)
	}
	slottest.WantWritten(t, s, true, w)
	for _, c := range []struct {
		q    recycled.Query
		want int
	}{
		{recycled.Query{}, 0}, {recycled.Query{Free: 1}, 1}, {recycled.Query{Free: 3}, 3}, {recycled.Query{Free: 4}, 4}, {recycled.Query{Free: 10}, 4},
		{recycled.Query{Name: "name1"}, 1}, {recycled.Query{Name: "none"}, 0}, {recycled.Query{Name: "name0", Free: 2}, 3},
		{recycled.Query{Name: "name0", WorkerIDs: []int64{state.Slots[0].WorkerID, state.Slots[1].WorkerID, 99}}, 2}, {recycled.Query{All: true, Free: 1}, 6},
	} {
		if got := slottest.Read(t, s, c.q); len(got.Slots) != c.want {
			t.Errorf("%+v selects %d slots, want %d", c.q, len(got.Slots), c.want)
		}
	}
	for _, slot := range slottest.Read(t, s, recycled.Query{Name: "name1"}).Slots {
		if slot.Holder.Name != "name1" {
			t.Errorf("the slot of another name is selected: %+v", slot)
		}
	}
}
