package uid

import "fmt"

// Check checks all settings: each value by itself, and against the others. The error is a *SettingsError. Whether the worker ID,
// the prefix and the division fit into the layout is checked later, when a generator takes a worker ID.
func (s Settings) Check() error {
	var found faults
	for _, k := range settingTable() {
		found.add(k.Name, k.check(s))
	}
	if len(found) == 0 { // otherwise their values against each other mean nothing
		c, _ := s.config()
		for _, err := range c.faults {
			found.add("", err)
		}
	}
	s.checkAssigner(&found)
	return found.err()
}

// config returns the configuration of the generator.
func (s Settings) config() (config, error) {
	opts := s.Options()
	if s.Generator != GeneratorDefault {
		opts = append(opts, withRing)
	}
	return newConfig(opts)
}

// checkAssigner checks the keys of the assigner against each other.
func (s Settings) checkAssigner(found *faults) {
	isFile := isFileStore(s.Store)
	unused := func(key, value, reason string) {
		if value != "" {
			found.add(key, settingError("is %s, and %s; leave it out", quoteShort(value), reason))
		}
	}
	switch s.Assigner {
	case "":
		const none = "no assigner is set"
		unused("store", redact(s.Store), none)
		unused("worker_id", s.WorkerID, none)
		unused("worker_name", s.WorkerName, none)
		unused("worker_prefix", s.WorkerPrefix, none)
		if s.WorkerDivide != 0 {
			unused("worker_divide", fmt.Sprint(s.WorkerDivide), none)
		}
	case AssignerDisposable:
		const chosen = "a disposable worker ID is chosen by the store"
		unused("worker_id", s.WorkerID, chosen)
		unused("worker_name", s.WorkerName, chosen)
	case AssignerStatic:
		unused("worker_name", s.WorkerName, "a static worker ID has no name")
		if s.WorkerID == "" {
			found.add("worker_id", settingError("is not set; must be the worker ID of the assigner static"))
		}
		if s.WorkerID == ordinal { // a force-deleted pod may still run
			found.add("worker_id", settingError("is ordinal; must be a number, or the assigner recycled"))
		}
		if s.Store != "" && !isFile {
			found.add("store", settingError("is %s; must be file: and a path, or left out, with the assigner static", quoteShort(redact(s.Store))))
		}
	}
}
