package recycled

import (
	"time"

	"github.com/ringuid/ringuid/internal/lockedfile"
	"github.com/ringuid/ringuid/internal/millis"
)

// savedRecord is what Saved keeps in its file: a lease on a slot, and how much of it was used.
//
//	lease WORKERID REVISION FROM UNTIL MARK HISTORY FORMAT TOKENS TOKEN...
type savedRecord struct {
	slot   Slot      // WorkerID, Revision, Token, From, Until and History, as the store has acknowledged them
	mark   time.Time // the end of what the generator was granted or, after Release, has used
	format string    // of the generator

	// tokens are the token that the store has acknowledged, and after it those of swaps that were made
	// or not.
	tokens []string
}

// acknowledged returns the record after the store has acknowledged a swap.
func (r savedRecord) acknowledged(slot Slot) savedRecord {
	r.slot, r.tokens = slot, []string{slot.Token}
	r.mark = millis.Later(r.mark, slot.From)
	return r
}

// encode appends the record to the content of the file.
func (r savedRecord) encode(e *lockedfile.Encoder) {
	e.Begin("lease")
	e.Numbers(r.slot.WorkerID, r.slot.Revision)
	e.Times(r.slot.From, r.slot.Until, r.mark)
	e.Texts(r.slot.History, r.format)
	e.Numbers(int64(len(r.tokens)))
	e.Texts(r.tokens...)
}

// decodeSavedRecord returns the record in the content of a file.
func decodeSavedRecord(d *lockedfile.Decoder) (r savedRecord, ok bool) {
	d.Prefix("lease")
	r.slot = Slot{WorkerID: d.Number(), Revision: d.Number(), From: d.Time(), Until: d.Time()}
	r.mark = d.Time()
	r.slot.History, r.format = d.Text(), d.Text()
	for count := d.Number(); count > 0 && !d.Failed; count-- {
		r.tokens = append(r.tokens, d.Text())
	}
	d.Prefix("\n")
	if d.Failed || d.Rest != "" || len(r.tokens) == 0 || r.slot.Revision <= 0 {
		return r, false
	}
	r.slot.Token = r.tokens[0]
	return r, true
}
