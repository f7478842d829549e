package redis

import (
	"encoding/json"
	"strconv"
	"time"

	"github.com/ringuid/ringuid/workerassign"
)

// poolRecord is the JSON of the pool in the field "pool". Times are Unix milliseconds.
type poolRecord struct {
	Revision int64  `json:"rev"` // the scripts read it
	Format   string `json:"format"`
	First    int64  `json:"first"`
	Slots    int64  `json:"slots"`
	History  string `json:"history"`
	Since    int64  `json:"since"`
	Floor    int64  `json:"floor"`
	Horizon  string `json:"horizon"`
	Fencing  string `json:"fencing"`
	Skew     string `json:"skew"`
}

// slotRecord is the JSON of a slot in the field "slot:<worker ID>". Times are Unix milliseconds.
type slotRecord struct {
	Revision int64  `json:"rev"` // the scripts read it
	Token    string `json:"token"`
	From     int64  `json:"from"`
	Until    int64  `json:"until"`
	History  string `json:"history"`
	Written  int64  `json:"written"`
	FreeAt   int64  `json:"freeAt"` // the scripts read it
	Name     string `json:"name"`   // the scripts read it
	Host     string `json:"host"`
	Process  string `json:"process"`
	Since    int64  `json:"since"`
}

// encode returns a record as JSON. Its fields are integers and texts, which always have a JSON.
func encode(record any) string {
	text, err := json.Marshal(record)
	if err != nil {
		panic("bug: " + err.Error())
	}
	return string(text)
}

func encodePool(p workerassign.Pool) string {
	return encode(poolRecord{
		Revision: p.Revision, Format: p.Format, First: p.First, Slots: p.Slots,
		History: p.History, Since: p.Since.UnixMilli(), Floor: p.Floor.UnixMilli(),
		Horizon: p.Horizon.String(), Fencing: p.Fencing.String(), Skew: p.Skew.String(),
	})
}

func decodePool(text string) (workerassign.Pool, error) {
	var r poolRecord
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		return workerassign.Pool{}, err
	}
	p := workerassign.Pool{
		Revision: r.Revision, Format: r.Format, First: r.First, Slots: r.Slots,
		History: r.History, Since: fromMillis(r.Since), Floor: fromMillis(r.Floor),
	}
	for _, d := range []struct {
		text string
		to   *time.Duration
	}{{r.Horizon, &p.Horizon}, {r.Fencing, &p.Fencing}, {r.Skew, &p.Skew}} {
		var err error
		if *d.to, err = time.ParseDuration(d.text); err != nil {
			return workerassign.Pool{}, err
		}
	}
	return p, nil
}

func encodeSlot(s workerassign.Slot) string {
	return encode(slotRecord{
		Revision: s.Revision, Token: s.Token, From: s.From.UnixMilli(), Until: s.Until.UnixMilli(),
		History: s.History, Written: s.Written.UnixMilli(), FreeAt: s.FreeAt.UnixMilli(),
		Name: s.Holder.Name, Host: s.Holder.Host, Process: s.Holder.Process, Since: s.Holder.Since.UnixMilli(),
	})
}

func decodeSlot(workerID, text string) (workerassign.Slot, error) {
	id, err := strconv.ParseInt(workerID, 10, 64)
	if err != nil {
		return workerassign.Slot{}, err
	}
	var r slotRecord
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		return workerassign.Slot{}, err
	}
	return workerassign.Slot{
		WorkerID: id, Revision: r.Revision, Token: r.Token, From: fromMillis(r.From), Until: fromMillis(r.Until),
		History: r.History, Written: fromMillis(r.Written), FreeAt: fromMillis(r.FreeAt),
		Holder: workerassign.Holder{Name: r.Name, Host: r.Host, Process: r.Process, Since: fromMillis(r.Since)},
	}, nil
}

// fromMillis is the inverse of time.Time.UnixMilli, also for the zero time.
func fromMillis(ms int64) time.Time { return time.UnixMilli(ms).UTC() }
