// Package options applies the options of constructors.
package options

import "reflect"

// Apply calls apply for each option. O is an interface or a function. fail is called for one that is nil.
func Apply[O any](opts []O, apply func(O), fail func(format string, args ...any)) {
	for i, o := range opts {
		if reflect.ValueOf(opts).Index(i).IsNil() {
			fail("an option is nil; must not be nil")
			continue
		}
		apply(o)
	}
}
