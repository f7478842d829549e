package recycled

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/ringuid/ringuid/workerassign"
)

// slotRecord is the encoding of a Slot.
type slotRecord struct {
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

// poolRecord is the encoding of a Pool. Durations are milliseconds.
type poolRecord struct {
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

// Encode returns the record of the slot as a text: a JSON object, which operators can read. Times are Unix milliseconds; a time that is
// missing is the zero time. It is for stores that keep a text for each record.
func (s Slot) Encode() []byte {
	return encode(slotRecord{s.WorkerID, s.Revision, s.Token, stamp{s.From}, stamp{s.Until}, s.History, stamp{s.Written},
		stamp{s.FreeAt}, s.Holder.Name, s.Holder.Host, s.Holder.Process, stamp{s.Holder.Since}})
}

// DecodeSlot returns the slot of a text that Slot.Encode has returned. The error wraps ErrPool and workerassign.ErrPermanent.
func DecodeSlot(text []byte) (Slot, error) {
	var s slotRecord
	err := decode(text, &s, &s.Revision)
	return Slot{WorkerID: s.WorkerID, Revision: s.Revision, Token: s.Token, From: s.From.Time, Until: s.Until.Time,
		History: s.History, Written: s.Written.Time, FreeAt: s.FreeAt.Time,
		Holder: Holder{Name: s.Name, Host: s.Host, Process: s.Process, Since: s.Since.Time}}, err
}

// Encode returns the record of the pool as a text, see Slot.Encode.
func (p Pool) Encode() []byte {
	return encode(poolRecord{p.Revision, p.Format, p.First, p.Slots, p.History, stamp{p.Since}, stamp{p.Floor},
		p.Horizon.Milliseconds(), p.Fencing.Milliseconds(), p.Skew.Milliseconds()})
}

// DecodePool returns the pool of a text that Pool.Encode has returned. The error wraps ErrPool and workerassign.ErrPermanent.
func DecodePool(text []byte) (Pool, error) {
	var p poolRecord
	err := decode(text, &p, &p.Revision)
	if err == nil && (p.First < 0 || p.Slots < 0) {
		err = recordError(text, fmt.Errorf("its first worker ID is %d, and it has %d slots; both must be at least 0", p.First, p.Slots))
	}
	return Pool{Revision: p.Revision, Format: p.Format, First: p.First, Slots: p.Slots, History: p.History,
		Since: p.Since.Time, Floor: p.Floor.Time,
		Horizon: toDuration(p.Horizon), Fencing: toDuration(p.Fencing), Skew: toDuration(p.Skew)}, err
}

func encode(v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		panic("recycled: bug: " + err.Error()) // strings and integers can always be encoded
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
		return recordError(text, err)
	}
	return nil
}

// recordError returns the error for a record that no Store has written.
func recordError(text []byte, err error) error {
	return fmt.Errorf("%w: the record %.200q cannot be read (%w): see doc/fleet.md, A slot or the pool is missing; %v", ErrPool, text, workerassign.ErrPermanent, err)
}
