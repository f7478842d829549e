package uid

import (
	"encoding/json"
	"strconv"
	"time"
)

// Parts are what a UID is made of.
type Parts struct {
	ID       ID        // the whole
	Time     time.Time // the start of its time unit, in UTC
	WorkerID int64
	Sequence int64 // its place within that time unit and worker ID
	Delta    int64 // the time units from the epoch to Time
}

// timestampForm is how the original prints a time; with its fraction, where the time unit is
// a part of a second and there is one.
const timestampForm = time.DateTime + ".999"

// partsJSON is the original's form: an object of strings.
type partsJSON struct {
	UID       string `json:"UID"`
	Timestamp string `json:"timestamp"`
	WorkerID  string `json:"workerId"`
	Sequence  string `json:"sequence"`
}

// MarshalJSON returns what the original's parseUID prints, with the time in UTC:
//
//	{"UID":"…","timestamp":"2026-11-21 03:14:50","workerId":"…","sequence":"…"}
func (p Parts) MarshalJSON() ([]byte, error) {
	return json.Marshal(partsJSON{
		UID:       p.ID.String(),
		Timestamp: p.Time.UTC().Format(timestampForm),
		WorkerID:  strconv.FormatInt(p.WorkerID, 10),
		Sequence:  strconv.FormatInt(p.Sequence, 10),
	})
}

// String returns the parts as MarshalJSON does.
func (p Parts) String() string {
	b, err := p.MarshalJSON()
	if err != nil {
		panic("bug: " + err.Error()) // four strings
	}
	return string(b)
}
