// Package slotrecord encodes the records of a recycled.Store as JSON texts, for stores that keep
// one text for each record. Operators can read them. Times are Unix milliseconds; a time that is
// missing is the zero time.
package slotrecord

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/ringuid/ringuid/workerassign"
	"github.com/ringuid/ringuid/workerassign/recycled"
)

// slot is the encoding of a recycled.Slot.
type slot struct {
	WorkerID int64  `json:"workerID"`
	Revision int64  `json:"revision"`
	Token    string `json:"token"`
	From     stamp  `json:"from"`
	Until    stamp  `json:"until"`
	History  string `json:"history"`
	Written  stamp  `json:"written"`
	FreeAt   stamp  `json:"freeAt"`
	Name     string `json:"name"`
	Host     string `json:"host"`
	Process  string `json:"process"`
	Since    stamp  `json:"since"`
}

// pool is the encoding of a recycled.Pool. Durations are milliseconds.
type pool struct {
	Revision int64  `json:"revision"`
	Format   string `json:"format"`
	First    int64  `json:"first"`
	Slots    int64  `json:"slots"`
	History  string `json:"history"`
	Since    stamp  `json:"since"`
	Floor    stamp  `json:"floor"`
	Horizon  int64  `json:"horizonMillis"`
	Fencing  int64  `json:"fencingMillis"`
	Skew     int64  `json:"skewMillis"`
}

// stamp is a time, which is encoded as Unix milliseconds.
type stamp struct{ time.Time }

// MarshalJSON implements json.Marshaler.
func (t stamp) MarshalJSON() ([]byte, error) {
	return strconv.AppendInt(nil, t.UnixMilli(), 10), nil
}

// UnmarshalJSON implements json.Unmarshaler.
func (t *stamp) UnmarshalJSON(text []byte) error {
	ms, err := strconv.ParseInt(string(text), 10, 64)
	t.Time = time.UnixMilli(ms).UTC()
	return err
}

func toDuration(ms int64) time.Duration {
	return time.Duration(min(ms, math.MaxInt64/int64(time.Millisecond))) * time.Millisecond
}

// EncodeSlot returns the text of a slot.
func EncodeSlot(s recycled.Slot) []byte {
	return encode(slot{s.WorkerID, s.Revision, s.Token, stamp{s.From}, stamp{s.Until}, s.History, stamp{s.Written},
		stamp{s.FreeAt}, s.Holder.Name, s.Holder.Host, s.Holder.Process, stamp{s.Holder.Since}})
}

// DecodeSlot returns the slot of a text. The error wraps recycled.ErrPool and ErrPermanent.
func DecodeSlot(text []byte) (recycled.Slot, error) {
	var s slot
	err := decode(text, &s, &s.Revision)
	return recycled.Slot{WorkerID: s.WorkerID, Revision: s.Revision, Token: s.Token, From: s.From.Time, Until: s.Until.Time,
		History: s.History, Written: s.Written.Time, FreeAt: s.FreeAt.Time,
		Holder: recycled.Holder{Name: s.Name, Host: s.Host, Process: s.Process, Since: s.Since.Time}}, err
}

// EncodePool returns the text of a pool.
func EncodePool(p recycled.Pool) []byte {
	return encode(pool{p.Revision, p.Format, p.First, p.Slots, p.History, stamp{p.Since}, stamp{p.Floor},
		p.Horizon.Milliseconds(), p.Fencing.Milliseconds(), p.Skew.Milliseconds()})
}

// DecodePool returns the pool of a text. The error wraps recycled.ErrPool and ErrPermanent.
func DecodePool(text []byte) (recycled.Pool, error) {
	var p pool
	err := decode(text, &p, &p.Revision)
	return recycled.Pool{Revision: p.Revision, Format: p.Format, First: p.First, Slots: p.Slots, History: p.History,
		Since: p.Since.Time, Floor: p.Floor.Time,
		Horizon: toDuration(p.Horizon), Fencing: toDuration(p.Fencing), Skew: toDuration(p.Skew)}, err
}

func encode(v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		panic("slotrecord: bug: " + err.Error()) // strings and integers can always be encoded
	}
	return text
}

// decode decodes a text. A record whose revision is not at least 1 would count as one that does not exist.
func decode(text []byte, v any, revision *int64) error {
	err := json.Unmarshal(text, v)
	if err == nil && *revision < 1 {
		err = fmt.Errorf("its revision is %d; must be at least 1", *revision)
	}
	if err != nil {
		return fmt.Errorf("%w: the record %.200q cannot be read (%w): restore what was there before; %v", recycled.ErrPool, text, workerassign.ErrPermanent, err)
	}
	return nil
}
