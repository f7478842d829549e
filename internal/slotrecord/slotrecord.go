// Package slotrecord encodes the records of a workerassign.SlotStore as JSON texts, for stores that keep
// one text for each record. Operators can read them. Times are Unix milliseconds; a missing time is the
// zero time.
package slotrecord

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/ringuid/ringuid/workerassign"
)

// slot is the encoding of a workerassign.Slot.
type slot struct {
	WorkerID int64  `json:"workerID"`
	Revision int64  `json:"revision"`
	Token    string `json:"token,omitempty"`
	From     millis `json:"from,omitempty"`
	Until    millis `json:"until,omitempty"`
	History  string `json:"history"`
	Written  millis `json:"written,omitempty"`
	FreeAt   millis `json:"freeAt,omitempty"`
	Name     string `json:"name,omitempty"`
	Host     string `json:"host,omitempty"`
	Process  string `json:"process,omitempty"`
	Since    millis `json:"since,omitempty"`
}

// pool is the encoding of a workerassign.Pool. Durations are milliseconds.
type pool struct {
	Revision int64  `json:"revision"`
	Format   string `json:"format"`
	First    int64  `json:"first"`
	Slots    int64  `json:"slots"`
	History  string `json:"history"`
	Since    millis `json:"since,omitempty"`
	Floor    millis `json:"floor,omitempty"`
	Horizon  int64  `json:"horizonMillis"`
	Fencing  int64  `json:"fencingMillis"`
	Skew     int64  `json:"skewMillis"`
}

// millis is a time in Unix milliseconds; 0 is the zero time.
type millis int64

// fromTime rounds up.
func fromTime(t time.Time) millis {
	if t.IsZero() {
		return 0
	}
	return millis(t.Add(time.Millisecond - 1).UnixMilli())
}

func (m millis) time() time.Time {
	if m == 0 {
		return time.Time{}
	}
	return time.UnixMilli(int64(m)).UTC()
}

// fromDuration rounds up.
func fromDuration(d time.Duration) int64 { return (d + time.Millisecond - 1).Milliseconds() }

func toDuration(ms int64) time.Duration { return time.Duration(ms) * time.Millisecond }

// EncodeSlot returns the text of a slot.
func EncodeSlot(s workerassign.Slot) []byte {
	return encode(slot{s.WorkerID, s.Revision, s.Token, fromTime(s.From), fromTime(s.Until), s.History, fromTime(s.Written),
		fromTime(s.FreeAt), s.Holder.Name, s.Holder.Host, s.Holder.Process, fromTime(s.Holder.Since)})
}

// DecodeSlot returns the slot of a text. The error wraps workerassign.ErrPool and ErrPermanent.
func DecodeSlot(text []byte) (workerassign.Slot, error) {
	var s slot
	err := decode(text, &s)
	return workerassign.Slot{WorkerID: s.WorkerID, Revision: s.Revision, Token: s.Token, From: s.From.time(), Until: s.Until.time(),
		History: s.History, Written: s.Written.time(), FreeAt: s.FreeAt.time(),
		Holder: workerassign.Holder{Name: s.Name, Host: s.Host, Process: s.Process, Since: s.Since.time()}}, err
}

// EncodePool returns the text of a pool.
func EncodePool(p workerassign.Pool) []byte {
	return encode(pool{p.Revision, p.Format, p.First, p.Slots, p.History, fromTime(p.Since), fromTime(p.Floor),
		fromDuration(p.Horizon), fromDuration(p.Fencing), fromDuration(p.Skew)})
}

// DecodePool returns the pool of a text. The error wraps workerassign.ErrPool and ErrPermanent.
func DecodePool(text []byte) (workerassign.Pool, error) {
	var p pool
	err := decode(text, &p)
	return workerassign.Pool{Revision: p.Revision, Format: p.Format, First: p.First, Slots: p.Slots, History: p.History,
		Since: p.Since.time(), Floor: p.Floor.time(),
		Horizon: toDuration(p.Horizon), Fencing: toDuration(p.Fencing), Skew: toDuration(p.Skew)}, err
}

func encode(v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		panic("slotrecord: bug: " + err.Error()) // strings and integers can always be encoded
	}
	return text
}

func decode(text []byte, v any) error {
	if err := json.Unmarshal(text, v); err != nil {
		return fmt.Errorf("%w: the record %.200q cannot be read (%w): restore what was there before; %v", workerassign.ErrPool, text, workerassign.ErrPermanent, err)
	}
	return nil
}
