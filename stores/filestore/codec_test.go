package filestore

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/ringuid/ringuid/internal/lockedfile"
	"github.com/ringuid/ringuid/internal/workerfile"
	"github.com/ringuid/ringuid/workerassign"
	"github.com/ringuid/ringuid/workerassign/recycled"
)

// slotFileExample returns a content with unusual values.
func slotFileExample() *slotFileContent {
	at := time.UnixMilli(1_800_000_000_123).UTC()
	texts := []string{"", "=", " ", "\n", "\"", "\\", "orders-1", "主机-1", "\x00\x7f\xff", "a=\"b\" c", strings.Repeat("x", 300)}
	c := &slotFileContent{history: "H", fileID: "1f.2", lockID: "2a.3",
		pool: recycled.Pool{Revision: math.MaxInt64, Format: "1-28-22-13; \"x\"", First: 3, Slots: 4, History: "H", Since: at, Floor: time.Time{},
			Horizon: time.Hour, Fencing: time.Second, Skew: time.Millisecond}}
	for n, text := range texts {
		history := leaseHistory(c.pool)
		if n%2 == 1 {
			history = text
		}
		c.slots = append(c.slots, recycled.Slot{WorkerID: int64(n), Revision: 1, Token: text, From: at, Until: at.Add(time.Duration(n) * time.Hour), History: history,
			Written: time.UnixMilli(-1).UTC(), FreeAt: workerassign.Unbounded(), Holder: recycled.Holder{Name: text, Host: text, Process: text, Since: at}})
	}
	return c
}

// What was encoded is decoded without a difference.
func TestSlotFileRoundTrip(t *testing.T) {
	for name, c := range map[string]*slotFileContent{
		"new":           {history: "H"},
		"without slots": {history: "H", pool: recycled.Pool{Revision: 1, Since: time.UnixMilli(0).UTC(), History: "other"}},
		"without pool":  {history: "", slots: slotFileExample().slots[:1]},
		"unusual":       slotFileExample(),
	} {
		if c.pool.Revision == 0 {
			c.pool = recycled.Pool{}
		}
		got, err := decodeSlotFile(c.encode())
		if err != nil || !reflect.DeepEqual(got, c) {
			t.Errorf("%s: %+v, %v; want %+v", name, got, err, c)
		}
	}
}

// The checksum finds each change of a single byte, and each cut.
func TestSlotFileChecksum(t *testing.T) {
	data := slotFileExample().encode()
	for n := range data {
		changed := bytes.Clone(data)
		changed[n] ^= 1
		if _, err := decodeSlotFile(changed); err == nil {
			t.Fatalf("a change of byte %d was not found", n)
		}
		if _, err := decodeSlotFile(data[:n]); err == nil {
			t.Fatalf("a cut at byte %d was not found", n)
		}
	}
}

// An operator can read the file.
func TestSlotFileIsReadable(t *testing.T) {
	path := filepath.Join(t.TempDir(), "slots")
	state := newSlotsForTest(t, New(path), 2)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	slot := state.Slots[1]
	want := fmt.Sprintf("\nslot 1 1 %d %d %d %d %d %q = \"orders-1\" \"host-1\" \"4711\"\n", slot.From.UnixMilli(), slot.Until.UnixMilli(),
		slot.Written.UnixMilli(), slot.FreeAt.UnixMilli(), slot.Holder.Since.UnixMilli(), slot.Token)
	if !strings.Contains(string(text), want) {
		t.Errorf("the file is\n%s\nwant the line %s", text, want)
	}
}

// Any content is refused or is what encode writes for it, apart from its checksum.
func FuzzDecodeSlotFile(f *testing.F) {
	example := slotFileExample()
	example.slots = example.slots[:4] // a long seed takes long to be minimized
	for _, c := range []*slotFileContent{{history: "H"}, example} {
		data := c.encode()
		lines, _ := lockedfile.CutChecksum(data)
		f.Add(lines)
	}
	f.Add([]byte(workerfile.SlotsHeader + " \"\" \"\" \"\"\npool 1 0 0 0 0 10000000000000 0 0 \"\" \"\"\n")) // a horizon beyond the greatest time.Duration
	f.Add([]byte(workerfile.SlotsHeader + " \"\" `\n` '\"'\nslot 1 1 1 1 1 1 1 = = = = =\n"))
	f.Fuzz(func(t *testing.T, lines []byte) {
		c, err := decodeSlotFile(lockedfile.AppendChecksum(bytes.Clone(lines)))
		if err != nil {
			return
		}
		again, err := decodeSlotFile(c.encode())
		if err != nil || !reflect.DeepEqual(again, c) {
			t.Errorf("%+v became %+v, %v", c, again, err)
		}
	})
}
