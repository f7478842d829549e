package assigntest

import (
	"fmt"
	"time"

	"github.com/ringuid/ringuid/workerassign/recycled"
)

// newPool returns a record of a pool that does not exist yet, for a store in the given state.
func newPool(s recycled.State, slots int64) recycled.Pool {
	return recycled.Pool{
		Revision: 1, Format: "1-28-22-13", Slots: slots, History: s.History, Since: floorMS(s.Now),
		Horizon: 75 * time.Second, Fencing: 30 * time.Second, Skew: 5 * time.Second,
	}
}

// newSlot returns a record of a slot that does not exist yet, free since a minute.
func newSlot(s recycled.State, workerID int64) recycled.Slot {
	begin := floorMS(s.Now.Add(-time.Minute))
	return recycled.Slot{WorkerID: workerID, Revision: 1, From: begin, Until: begin, History: s.History, Written: begin, FreeAt: begin}
}

// heldSlot returns a record of a slot that does not exist yet, and that a lease holds for a day, however slow the test is.
func heldSlot(s recycled.State, workerID int64) recycled.Slot {
	slot := newSlot(s, workerID)
	slot.Token = fmt.Sprint("token ", workerID)
	slot.Until = floorMS(s.Now.Add(24 * time.Hour))
	slot.FreeAt = slot.Until.Add(10 * time.Second)
	slot.Holder = recycled.Holder{Host: "host-1", Process: "4711", Since: slot.From}
	return slot
}

// next returns a slot as the next write of it, with another token.
func next(slot recycled.Slot, token string) recycled.Slot {
	slot.Revision++
	slot.Token = token
	return slot
}

func floorMS(t time.Time) time.Time { return time.UnixMilli(t.UnixMilli()).UTC() }

// diffPool describes the differences of two pools; "" if there are none.
func diffPool(got, want recycled.Pool) string {
	var d diff
	d.add("Revision", got.Revision, want.Revision)
	d.add("Format", got.Format, want.Format)
	d.add("First", got.First, want.First)
	d.add("Slots", got.Slots, want.Slots)
	d.add("History", got.History, want.History)
	d.addTime("Since", got.Since, want.Since)
	d.addTime("Floor", got.Floor, want.Floor)
	d.add("Horizon", got.Horizon, want.Horizon)
	d.add("Fencing", got.Fencing, want.Fencing)
	d.add("Skew", got.Skew, want.Skew)
	return string(d)
}

// diffSlot describes the differences of two slots; "" if there are none.
func diffSlot(got, want recycled.Slot) string {
	var d diff
	d.add("WorkerID", got.WorkerID, want.WorkerID)
	d.add("Revision", got.Revision, want.Revision)
	d.add("Token", got.Token, want.Token)
	d.addTime("From", got.From, want.From)
	d.addTime("Until", got.Until, want.Until)
	d.add("History", got.History, want.History)
	d.addTime("Written", got.Written, want.Written)
	d.addTime("FreeAt", got.FreeAt, want.FreeAt)
	d.add("Holder.Name", got.Holder.Name, want.Holder.Name)
	d.add("Holder.Host", got.Holder.Host, want.Holder.Host)
	d.add("Holder.Process", got.Holder.Process, want.Holder.Process)
	d.addTime("Holder.Since", got.Holder.Since, want.Holder.Since)
	return string(d)
}

// diff collects the fields in which two records differ.
type diff string

func (d *diff) add(field string, got, want any) {
	if got != want {
		*d += diff(fmt.Sprintf(" %s is %#v, want %#v;", field, got, want))
	}
}

func (d *diff) addTime(field string, got, want time.Time) {
	if !got.Equal(want) {
		*d += diff(fmt.Sprintf(" %s is %v, want %v;", field, got.UTC(), want.UTC()))
	}
}
