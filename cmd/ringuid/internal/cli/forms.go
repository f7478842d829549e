package cli

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/ringuid/ringuid/uid"
)

// A form is a way to write a UID as text.
type form struct {
	name   string
	format func(uid.ID) string
	parse  func(string) (uid.ID, error)
}

// forms returns all forms. The first one is the usual one.
func forms() []form {
	return []form{
		{"decimal", uid.ID.String, uid.ParseID},
		{"hexadecimal", func(id uid.ID) string { return fmt.Sprintf("0x%016x", int64(id)) }, parseHexadecimal},
	}
}

// formAuto is the value of --form for decimal and hexadecimal.
const formAuto = "auto"

// formNames returns the values of --form, separated by commas.
func formNames() string {
	names := formAuto
	for _, f := range forms() {
		names += "," + f.name
	}
	return names
}

// parseForm parses a UID in a form. The error wraps uid.ErrRange.
func parseForm(name, text string) (uid.ID, error) {
	if name == formAuto {
		name = "decimal"
		if strings.HasPrefix(text, "0x") || strings.HasPrefix(text, "0X") {
			name = "hexadecimal"
		}
	}
	for _, f := range forms() {
		if f.name == name {
			id, err := f.parse(text)
			if err != nil && name == "decimal" {
				err = fmt.Errorf("%w; hexadecimal digits begin with 0x, and other forms are named by --form", err)
			}
			return id, err
		}
	}
	return 0, usageErrorf("--form is %q; must be one of %s", name, formNames())
}

// parseHexadecimal parses 1 to 16 hexadecimal digits, with or without 0x.
func parseHexadecimal(text string) (uid.ID, error) {
	digits := strings.TrimPrefix(strings.TrimPrefix(text, "0x"), "0X")
	v, err := strconv.ParseUint(digits, 16, 63)
	if err != nil || len(digits) > 16 {
		return 0, fmt.Errorf("%w: %q must be 1 to 16 hexadecimal digits of a number from 0 to 2^63-1", uid.ErrRange, text)
	}
	return uid.ID(v), nil
}
