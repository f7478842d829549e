package filestore

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"time"

	"github.com/ringuid/ringuid/internal/lockedfile"
	"github.com/ringuid/ringuid/internal/workerfile"
	"github.com/ringuid/ringuid/workerassign/recycled"
)

// slotFileContent is the content of a slot file. The slots are in the order of their worker IDs.
//
// The content consists of lines of fields, which are separated by spaces. Times and durations are
// in milliseconds, and texts are quoted. A history "=" without quotes is the usual one: in the pool the file's,
// and in a slot the pool's.
//
//	ringuid-slots v1 HISTORY FILE LOCK
//	pool REVISION FIRST SLOTS SINCE FLOOR HORIZON FENCING SKEW HISTORY FORMAT
//	slot WORKERID REVISION FROM UNTIL WRITTEN FREEAT SINCE TOKEN HISTORY NAME HOST PROCESS
//	crc32c=CHECKSUM
type slotFileContent struct {
	history string
	fileID  string // the identity of the file that has this content
	lockID  string // and of its lock file
	pool    recycled.Pool
	slots   []recycled.Slot
}

// leaseHistory returns the usual history of a slot of a pool, which the file does not repeat for each slot.
func leaseHistory(p recycled.Pool) string {
	return fmt.Sprintf("%s since %d", p.History, p.Since.UnixMilli())
}

func compareWorkerID(s recycled.Slot, workerID int64) int { return cmp.Compare(s.WorkerID, workerID) }

// encode returns the content of a file.
func (c *slotFileContent) encode() []byte {
	e := lineEncoder{Encoder: lockedfile.Encoder{Out: make([]byte, 0, 256+256*len(c.slots))}, history: c.history}
	e.Out = append(e.Out, workerfile.SlotsHeader...)
	e.Texts(c.history, c.fileID, c.lockID)
	if p := c.pool; p.Revision != 0 {
		e.Begin("pool")
		e.Numbers(p.Revision, p.First, p.Slots)
		e.Times(p.Since, p.Floor)
		e.durations(p.Horizon, p.Fencing, p.Skew)
		e.historyText(p.History)
		e.Texts(p.Format)
	}
	e.history = leaseHistory(c.pool)
	for i := range c.slots {
		s := &c.slots[i]
		e.Begin("slot")
		e.Numbers(s.WorkerID, s.Revision)
		e.Times(s.From, s.Until, s.Written, s.FreeAt, s.Holder.Since)
		e.Texts(s.Token)
		e.historyText(s.History)
		e.Texts(s.Holder.Name, s.Holder.Host, s.Holder.Process)
	}
	e.Out = append(e.Out, '\n')
	return lockedfile.AppendChecksum(e.Out)
}

// lineEncoder appends lines of fields to a text.
type lineEncoder struct {
	lockedfile.Encoder
	history string // the history that is written as "="
}

func (e *lineEncoder) durations(values ...time.Duration) {
	for _, v := range values {
		e.Numbers(v.Milliseconds())
	}
}

func (e *lineEncoder) historyText(v string) {
	if v == e.history {
		e.Out = append(e.Out, " ="...)
		return
	}
	e.Texts(v)
}

// decodeSlotFile returns the content that encode has encoded.
func decodeSlotFile(data []byte) (*slotFileContent, error) {
	data, ok := lockedfile.CutChecksum(data)
	if !ok {
		return nil, lockedfile.ErrContent
	}
	c := &slotFileContent{}
	slotHistory := leaseHistory(c.pool)
	for number := 0; len(data) > 0; number++ {
		line, rest, _ := bytes.Cut(data, []byte{'\n'})
		data = rest
		d := lineDecoder{Decoder: lockedfile.Decoder{Rest: string(line)}, history: c.history}
		switch {
		case number == 0:
			d.Prefix(workerfile.SlotsHeader)
			c.history, c.fileID, c.lockID = d.Text(), d.Text(), d.Text()
		case c.pool.Revision == 0 && len(c.slots) == 0 && d.HasPrefix("pool "):
			d.Prefix("pool")
			c.pool = recycled.Pool{Revision: d.Number(), First: d.Number(), Slots: d.Number(), Since: d.Time(), Floor: d.Time(),
				Horizon: d.duration(), Fencing: d.duration(), Skew: d.duration(), History: d.historyText(), Format: d.Text()}
			d.Failed = d.Failed || c.pool.Revision < 1
			slotHistory = leaseHistory(c.pool)
		default:
			d.history = slotHistory
			d.Prefix("slot")
			s := recycled.Slot{WorkerID: d.Number(), Revision: d.Number(), From: d.Time(), Until: d.Time(), Written: d.Time(), FreeAt: d.Time()}
			s.Holder.Since = d.Time()
			s.Token, s.History = d.Text(), d.historyText()
			s.Holder.Name, s.Holder.Host, s.Holder.Process = d.Text(), d.Text(), d.Text()
			if n := len(c.slots); s.Revision < 1 || n > 0 && c.slots[n-1].WorkerID >= s.WorkerID {
				d.Failed = true
			}
			c.slots = append(c.slots, s)
		}
		if d.Failed || d.Rest != "" {
			return nil, fmt.Errorf("%w (line %d)", lockedfile.ErrContent, number+1)
		}
	}
	return c, nil
}

// lineDecoder reads the fields of a text. After the first error all fields are zero.
type lineDecoder struct {
	lockedfile.Decoder
	history string // the history that is written as "="
}

func (d *lineDecoder) duration() time.Duration {
	n := d.Number()
	if n < 0 || n > math.MaxInt64/int64(time.Millisecond) {
		d.Failed = true
		return 0
	}
	return time.Duration(n) * time.Millisecond
}

func (d *lineDecoder) historyText() string {
	if d.HasPrefix(" =") {
		d.Prefix(" =")
		return d.history
	}
	return d.Text()
}
