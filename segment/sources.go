package segment

// Sources returns the state of each source, in their order in the Group, as the requests of all tags have found it: a
// source fails from the first request that it does not answer to the next one that it answers. End is 0, because each
// tag has its own. A tag that all sources refuse, for example with ErrNoTag, is seen in Health if it is in memory. That one
// source refuses a tag while others serve is only in the log.
func (t *Tags) Sources() []SourceState {
	if t == nil || t.work == nil {
		return nil
	}
	return t.queue.states()
}

// Sources returns the state of each source, in their order in the Group, for the day that is in use. End is a number
// of that day, without its date. When the numbers of the day are used up, End is greater than each of them. When the
// next day begins and cannot be opened, the sources have the errors of that.
func (d *Daily) Sources() []SourceState {
	if d == nil || d.work == nil {
		return nil
	}
	current := d.current.Load()
	states := current.seq.Sources()
	since, err := d.failing(current)
	if err == nil {
		return states
	}
	errs := []error{err}
	if several, ok := err.(interface{ Unwrap() []error }); ok {
		errs = several.Unwrap() // of each source: see provider.lastErrors
	}
	for i := range states {
		if states[i].LastError == nil && i < len(errs) {
			states[i].FailingSince, states[i].LastError = since, errs[i]
		}
	}
	return states
}
