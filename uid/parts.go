package uid

import (
	"encoding/json"
	"fmt"
	"strconv"
	"time"
)

// Parts are the fields of a UID, as Format.Parse reads them.
type Parts struct {
	ID       ID        // the whole UID
	Time     time.Time // the start of its time unit, in UTC
	WorkerID int64
	Sequence int64 // the number within that time unit and worker ID; the first one is 0 without WithSpread
	Delta    int64 // the number of time units from the epoch to Time
}

// timestampForm is how the original prints a time. The fraction, which the original does not have, is
// printed only for a time that is not a whole second.
const timestampForm = time.DateTime + ".999"

// errNilParts is the error of unmarshalling into a nil pointer.
var errNilParts = fmt.Errorf("%w: the Parts to unmarshal into are nil", ErrOption)

// partsJSON is the form of Baidu's UidGenerator, the original: an object of strings.
type partsJSON struct {
	UID       string `json:"UID"`
	Timestamp string `json:"timestamp"`
	WorkerID  string `json:"workerId"`
	Sequence  string `json:"sequence"`
}

// MarshalJSON implements json.Marshaler. It returns what parseUID of Baidu's UidGenerator prints,
// with the time in UTC:
//
//	{"UID":"…","timestamp":"2026-11-21 03:14:50","workerId":"…","sequence":"…"}
//
// If the time unit is less than a second, the timestamp has a fraction of up to three digits
// ("03:14:50.25"): a time that is not a whole millisecond is cut to one. Delta is not in it.
func (p Parts) MarshalJSON() ([]byte, error) {
	return json.Marshal(partsJSON{
		UID:       p.ID.String(),
		Timestamp: p.Time.UTC().Format(timestampForm),
		WorkerID:  strconv.FormatInt(p.WorkerID, 10),
		Sequence:  strconv.FormatInt(p.Sequence, 10),
	})
}

// UnmarshalJSON implements json.Unmarshaler. It reads what MarshalJSON returns for the parts of an ID
// that is not negative, and of a year up to 9999. Delta becomes 0, because MarshalJSON does not write it, and a time that
// MarshalJSON has cut to a millisecond stays cut. To get all parts, call Format.Parse with the ID.
//
// Each of the four fields must be present and have the form that MarshalJSON writes: otherwise the
// error wraps ErrRange and names the field, or is that of package encoding/json. Other fields are
// ignored. UnmarshalJSON does not check whether the parts belong to the ID, because that requires the
// format. It leaves the Parts unchanged if it returns an error, and if the JSON is null.
func (p *Parts) UnmarshalJSON(data []byte) error {
	if p == nil {
		return errNilParts
	}
	if string(data) == "null" {
		return nil
	}
	var in partsJSON // a field that is missing is "", which has no field's form
	if err := json.Unmarshal(data, &in); err != nil {
		return fmt.Errorf("uid: parts of a UID: %w", err)
	}
	id, err := partNumber("UID", in.UID)
	if err != nil {
		return err
	}
	at, err := partTime(in.Timestamp)
	if err != nil {
		return err
	}
	workerID, err := partNumber("workerId", in.WorkerID)
	if err != nil {
		return err
	}
	sequence, err := partNumber("sequence", in.Sequence)
	if err != nil {
		return err
	}
	*p = Parts{ID: ID(id), Time: at, WorkerID: workerID, Sequence: sequence}
	return nil
}

// partNumber reads a field of partsJSON that is a number.
func partNumber(field, text string) (int64, error) {
	id, err := ParseID(text) // for its strictness; the number need not be an ID
	if err != nil {
		return 0, fmt.Errorf("%w: parts of a UID: %s %q must be a decimal number from 0 to 2^63-1", ErrRange, field, text)
	}
	return int64(id), nil
}

// partTime reads the timestamp of partsJSON.
func partTime(text string) (time.Time, error) {
	t, err := time.Parse(timestampForm, text)
	if err != nil || t.Format(timestampForm) != text { // time.Parse is not strict
		return time.Time{}, fmt.Errorf("%w: parts of a UID: timestamp %q must be a time in UTC as in %q", ErrRange, text, "2026-11-21 03:14:50.25")
	}
	return t, nil
}

// String returns the parts as MarshalJSON does.
func (p Parts) String() string {
	b, err := p.MarshalJSON()
	if err != nil {
		panic("bug: " + err.Error()) // four strings
	}
	return string(b)
}
