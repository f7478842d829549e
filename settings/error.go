package settings

import (
	"fmt"
	"strings"

	"github.com/ringuid/ringuid/uid"
)

// An Error reports everything that is wrong with settings, or with the JSON, the YAML or the environment that they were read
// from. It wraps uid.ErrOption and the errors of all faults.
type Error struct {
	Faults []Fault // at least one
}

// A Fault is one thing that is wrong with settings.
type Fault struct {
	Name string // the key, or the name of the environment variable, or "" for a fault that has no key
	Err  error
}

// Error returns all faults: on one line if there is one, otherwise one on each line.
func (e *Error) Error() string {
	if len(e.Faults) == 1 {
		return "settings: " + e.Faults[0].String()
	}
	var b strings.Builder
	fmt.Fprintf(&b, "settings: %d are wrong:", len(e.Faults))
	for _, fault := range e.Faults {
		b.WriteString("\n\t" + fault.String())
	}
	return b.String()
}

// Unwrap returns uid.ErrOption and the errors of the faults.
func (e *Error) Unwrap() []error {
	errs := []error{uid.ErrOption}
	for _, fault := range e.Faults {
		errs = append(errs, fault.Err)
	}
	return errs
}

// String returns the name and the error, without the prefix of package uid.
func (f Fault) String() string {
	text := strings.TrimPrefix(f.Err.Error(), uid.ErrOption.Error()+": ")
	if f.Name == "" {
		return text
	}
	return f.Name + ": " + text
}

// faults collects what is wrong.
type faults []Fault

func (f *faults) add(name string, err error) {
	if err != nil {
		*f = append(*f, Fault{name, err})
	}
}

// addJoined adds each of the errors that a function of package uid has joined.
func (f *faults) addJoined(err error) {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, err := range joined.Unwrap() {
			f.add("", err)
		}
		return
	}
	f.add("", err)
}

// err returns the faults as one error, or nil if there are none.
func (f faults) err() error {
	if len(f) == 0 {
		return nil
	}
	return &Error{Faults: f}
}

// fault returns an error with one fault.
func fault(name, format string, args ...any) error {
	return faults{{name, fmt.Errorf(format, args...)}}.err()
}
