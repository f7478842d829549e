package uid

import (
	"encoding/json"
	"log/slog"
	"strconv"
	"strings"
)

// InForce returns the settings with each field set that has an effect: what the settings leave out has the default that is in
// force with the others. Fields that have no effect on this kind of generator are not set. If the settings are not valid, the
// error is that of Check.
func (s Settings) InForce() (Settings, error) {
	if err := s.Check(); err != nil {
		return Settings{}, err
	}
	c, err := s.config()
	if err != nil {
		return Settings{}, err
	}
	if s.Generator == "" {
		s.Generator = GeneratorCached
	}
	s.Layout, s.Epoch, s.TimeUnit = c.format.Layout(), c.format.Epoch(), c.format.Unit()
	s.ReserveAhead = c.reserve
	if s.Generator == GeneratorDefault {
		s.Rollback = c.rollback
		s.BoostPower, s.PaddingFactor, s.ScheduleInterval, s.MaxStaleness = nil, 0, nil, 0
		s.MaxBorrow, s.Rollover, s.RolloverInterval, s.TakePolicy = nil, nil, nil, nil
		return s, nil
	}
	s.Rollback = RollbackPolicy{}
	s.BoostPower, s.PaddingFactor, s.ScheduleInterval = &c.boostPower, c.factor, &c.interval
	if s.MaxStaleness = c.staleness; c.interval == 0 {
		s.MaxStaleness = 0 // nothing enforces it
	}
	s.MaxBorrow, s.Rollover, s.TakePolicy = &c.borrow, &c.rollover, c.take
	return s, nil
}

// printed is a key with its value as text.
type printed struct{ key, value string }

// print returns what is in force, or, if the settings are not valid, what is set. A password in Store is replaced.
func (s Settings) print() []printed {
	if inForce, err := s.InForce(); err == nil {
		s = inForce
	}
	s.Store = redact(s.Store)
	var all []printed
	for _, k := range settingTable() {
		if text := k.get(s); text != "" {
			all = append(all, printed{k.Name, text})
		}
	}
	return all
}

// String returns what is in force, as InForce does, as keys and values:
//
//	generator=cached layout=1-28-22-13 epoch=2026-01-01T00:00:00Z …
//
// A password in Store is replaced. Of settings that are not valid it has what is set.
func (s Settings) String() string {
	var b strings.Builder
	for i, p := range s.print() {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(p.key + "=")
		if quoted := strconv.Quote(p.value); strings.ContainsAny(p.value, " =") || quoted != `"`+p.value+`"` {
			p.value = quoted
		}
		b.WriteString(p.value)
	}
	return b.String()
}

// LogValue implements slog.LogValuer: a group with what String prints.
func (s Settings) LogValue() slog.Value {
	var attrs []slog.Attr
	for _, p := range s.print() {
		attrs = append(attrs, slog.String(p.key, p.value))
	}
	return slog.GroupValue(attrs...)
}

// MarshalJSON implements json.Marshaler: an object with what String prints, each value a text. UnmarshalJSON reads it back,
// to settings with the same effect, but for a password in Store, which is replaced, and for a TakePolicy that is not of the
// library, which has no text. If the settings are not valid, the error is that of Check.
func (s Settings) MarshalJSON() ([]byte, error) {
	if err := s.Check(); err != nil {
		return nil, err
	}
	b := []byte{'{'}
	for i, p := range s.print() {
		if i > 0 {
			b = append(b, ',')
		}
		value, err := json.Marshal(p.value)
		if err != nil {
			return nil, err
		}
		b = append(append(strconv.AppendQuote(b, p.key), ':'), value...)
	}
	return append(b, '}'), nil
}

// MarshalYAML has the signature that YAML libraries for Go call. It returns a map with what MarshalJSON writes.
func (s Settings) MarshalYAML() (any, error) {
	if err := s.Check(); err != nil {
		return nil, err
	}
	m := map[string]string{}
	for _, p := range s.print() {
		m[p.key] = p.value
	}
	return m, nil
}
