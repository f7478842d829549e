package workerassign

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"strconv"
	"time"
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
	pool    Pool
	slots   []Slot
}

const slotFileHeader = "ringuid-slots v1"

var (
	castagnoli = crc32.MakeTable(crc32.Castagnoli)

	// errFileText is the error of decodeSlotFile for a content that encode does not return.
	errFileText = errors.New("its content is not what this package wrote")
)

func compareWorkerID(s Slot, workerID int64) int { return cmp.Compare(s.WorkerID, workerID) }

// wholeMillis returns the pool as the file keeps it. Fractions of the durations are rounded up: H, F and M
// may be greater than what was set, but not less.
func (p Pool) wholeMillis() Pool {
	p.Since, p.Floor = roundDown(p.Since), roundUp(p.Floor)
	p.Horizon, p.Fencing, p.Skew = roundUpDuration(p.Horizon), roundUpDuration(p.Fencing), roundUpDuration(p.Skew)
	return p
}

// wholeMillis returns the slot as the file keeps it.
func (s Slot) wholeMillis() Slot {
	s.From, s.Until, s.Written, s.FreeAt = roundUp(s.From), roundUp(s.Until), roundDown(s.Written), roundUp(s.FreeAt)
	s.Holder.Since = roundDown(s.Holder.Since)
	return s
}

// encode returns the content of a file.
func (c *slotFileContent) encode() []byte {
	e := lineEncoder{history: c.history, text: make([]byte, 0, 256+256*len(c.slots))}
	e.text = append(e.text, slotFileHeader...)
	e.texts(c.history, c.fileID, c.lockID)
	if p := c.pool; p.Revision != 0 {
		e.begin("pool")
		e.numbers(p.Revision, p.First, p.Slots)
		e.times(p.Since, p.Floor)
		e.durations(p.Horizon, p.Fencing, p.Skew)
		e.historyText(p.History)
		e.texts(p.Format)
	}
	e.history = c.pool.leaseHistory()
	for i := range c.slots {
		s := &c.slots[i]
		e.begin("slot")
		e.numbers(s.WorkerID, s.Revision)
		e.times(s.From, s.Until, s.Written, s.FreeAt, s.Holder.Since)
		e.texts(s.Token)
		e.historyText(s.History)
		e.texts(s.Holder.Name, s.Holder.Host, s.Holder.Process)
	}
	e.text = append(e.text, '\n')
	return appendChecksum(e.text)
}

// appendChecksum appends the line with the checksum of all lines before it.
func appendChecksum(lines []byte) []byte {
	return fmt.Appendf(lines, "crc32c=%08x\n", crc32.Checksum(lines, castagnoli))
}

// lineEncoder appends lines of fields to a text.
type lineEncoder struct {
	text    []byte
	history string // the history that is written as "="
}

func (e *lineEncoder) begin(kind string) { e.text = append(append(e.text, '\n'), kind...) }

func (e *lineEncoder) numbers(values ...int64) {
	for _, v := range values {
		e.text = strconv.AppendInt(append(e.text, ' '), v, 10)
	}
}

func (e *lineEncoder) times(values ...time.Time) {
	for _, v := range values {
		e.numbers(v.UnixMilli())
	}
}

func (e *lineEncoder) durations(values ...time.Duration) {
	for _, v := range values {
		e.numbers(v.Milliseconds())
	}
}

func (e *lineEncoder) texts(values ...string) {
	for _, v := range values {
		if e.text = append(e.text, ' '); plainLength(v) == len(v) { // the usual case, which is faster
			e.text = append(append(append(e.text, '"'), v...), '"')
			continue
		}
		e.text = strconv.AppendQuote(e.text, v)
	}
}

// plainLength returns how many bytes at the beginning of s are the same when they are quoted.
func plainLength(s string) int {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			return i
		}
	}
	return len(s)
}

func (e *lineEncoder) historyText(v string) {
	if v == e.history {
		e.text = append(e.text, " ="...)
		return
	}
	e.texts(v)
}

// decodeSlotFile returns the content that encode has encoded.
func decodeSlotFile(data []byte) (*slotFileContent, error) {
	data, ok := cutChecksum(data)
	if !ok {
		return nil, errFileText
	}
	c := &slotFileContent{}
	slotHistory := c.pool.leaseHistory()
	for number := 0; len(data) > 0; number++ {
		line, rest, _ := bytes.Cut(data, []byte{'\n'})
		data = rest
		d := lineDecoder{rest: string(line), history: c.history}
		switch {
		case number == 0:
			d.prefix(slotFileHeader)
			c.history, c.fileID, c.lockID = d.text(), d.text(), d.text()
		case c.pool.Revision == 0 && len(c.slots) == 0 && d.hasPrefix("pool "):
			d.prefix("pool")
			c.pool = Pool{Revision: d.number(), First: d.number(), Slots: d.number(), Since: d.time(), Floor: d.time(),
				Horizon: d.duration(), Fencing: d.duration(), Skew: d.duration(), History: d.historyText(), Format: d.text()}
			d.failed = d.failed || c.pool.Revision < 1
			slotHistory = c.pool.leaseHistory()
		default:
			d.history = slotHistory
			d.prefix("slot")
			s := Slot{WorkerID: d.number(), Revision: d.number(), From: d.time(), Until: d.time(), Written: d.time(), FreeAt: d.time()}
			s.Holder.Since = d.time()
			s.Token, s.History = d.text(), d.historyText()
			s.Holder.Name, s.Holder.Host, s.Holder.Process = d.text(), d.text(), d.text()
			if n := len(c.slots); s.Revision < 1 || n > 0 && c.slots[n-1].WorkerID >= s.WorkerID {
				d.failed = true
			}
			c.slots = append(c.slots, s)
		}
		if d.failed || d.rest != "" {
			return nil, fmt.Errorf("%w (line %d)", errFileText, number+1)
		}
	}
	return c, nil
}

// cutChecksum returns the lines before the checksum, and whether that is right.
func cutChecksum(data []byte) (lines []byte, ok bool) {
	at := bytes.LastIndexByte(bytes.TrimSuffix(data, []byte{'\n'}), '\n') + 1
	lines = data[:at]
	if string(data[at:]) != fmt.Sprintf("crc32c=%08x\n", crc32.Checksum(lines, castagnoli)) {
		return nil, false
	}
	return lines, at > 0
}

// lineDecoder reads the fields of a line. After the first error all fields are zero.
type lineDecoder struct {
	rest    string
	history string
	failed  bool
}

func (d *lineDecoder) hasPrefix(s string) bool { return len(d.rest) >= len(s) && d.rest[:len(s)] == s }

func (d *lineDecoder) prefix(s string) {
	if !d.hasPrefix(s) {
		d.failed = true
		return
	}
	d.rest = d.rest[len(s):]
}

// number reads a number, as AppendInt writes it.
func (d *lineDecoder) number() int64 {
	d.prefix(" ")
	end := 0
	for end < len(d.rest) && d.rest[end] != ' ' && d.rest[end] != '\n' {
		end++
	}
	n, err := strconv.ParseInt(d.rest[:end], 10, 64)
	if err != nil || d.failed {
		d.failed = true
		return 0
	}
	d.rest = d.rest[end:]
	return n
}

func (d *lineDecoder) time() time.Time { return time.UnixMilli(d.number()).UTC() }

func (d *lineDecoder) duration() time.Duration {
	n := d.number()
	if n < 0 || n > math.MaxInt64/int64(time.Millisecond) {
		d.failed = true
		return 0
	}
	return time.Duration(n) * time.Millisecond
}

// text reads a quoted text.
func (d *lineDecoder) text() string {
	d.prefix(" ")
	if d.hasPrefix(`"`) {
		if n := plainLength(d.rest[1:]) + 1; n < len(d.rest) && d.rest[n] == '"' {
			text := d.rest[1:n]
			d.rest = d.rest[n+1:]
			return text
		}
	}
	quoted, err := strconv.QuotedPrefix(d.rest)
	if err != nil || d.failed {
		d.failed = true
		return ""
	}
	text, err := strconv.Unquote(quoted)
	d.failed = err != nil
	d.rest = d.rest[len(quoted):]
	return text
}

func (d *lineDecoder) historyText() string {
	if d.hasPrefix(" =") {
		d.prefix(" =")
		return d.history
	}
	return d.text()
}
