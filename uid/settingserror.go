package uid

import (
	"fmt"
	"slices"
	"strings"
)

// A SettingsError reports everything that is wrong with Settings, or with the JSON, the YAML or the environment that they were
// read from. It wraps ErrOption and the errors of all faults.
type SettingsError struct {
	Faults []SettingFault // at least one
}

// A SettingFault is one thing that is wrong with Settings.
type SettingFault struct {
	Name string // the key, or the name of the environment variable, or "" for a fault that has no key
	Err  error
}

// Error returns all faults: on one line if there is one, otherwise one on each line.
func (e *SettingsError) Error() string {
	if len(e.Faults) == 1 {
		return ErrOption.Error() + ": " + e.Faults[0].String()
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%v: %d settings are wrong:", ErrOption, len(e.Faults))
	for _, fault := range e.Faults {
		b.WriteString("\n\t" + fault.String())
	}
	return b.String()
}

// Unwrap returns ErrOption and the errors of the faults.
func (e *SettingsError) Unwrap() []error {
	errs := []error{ErrOption}
	for _, fault := range e.Faults {
		errs = append(errs, fault.Err)
	}
	return errs
}

// String returns the name and the error, without the prefix of package uid.
func (f SettingFault) String() string {
	text := strings.TrimPrefix(f.Err.Error(), ErrOption.Error()+": ")
	if f.Name == "" {
		return text
	}
	return f.Name + ": " + text
}

// faults collects what is wrong.
type faults []SettingFault

func (f *faults) add(name string, err error) {
	if err != nil {
		*f = append(*f, SettingFault{name, err})
	}
}

// err returns the faults as one error, or nil if there are none.
func (f faults) err() error {
	if len(f) == 0 {
		return nil
	}
	return &SettingsError{Faults: slices.Clone(f)}
}
