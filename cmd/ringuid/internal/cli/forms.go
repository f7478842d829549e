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
		{"base32", uid.ID.Base32, uid.ParseBase32},
		{"base62", uid.ID.Base62, uid.ParseBase62},
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
	for _, f := range forms() {
		if f.name == name {
			return f.parse(text)
		}
	}
	return parseAnyForm(text)
}

// parseAnyForm parses a UID whose form is not known: decimal digits are a decimal number, digits that begin with 0x are
// hexadecimal, and the length of any other text tells its form.
func parseAnyForm(text string) (uid.ID, error) {
	isDecimal := text != "" && strings.Trim(text, "0123456789") == ""
	switch {
	case isDecimal:
		return uid.ParseID(text)
	case strings.HasPrefix(text, "0x") || strings.HasPrefix(text, "0X"):
		return parseHexadecimal(text)
	}
	for _, f := range forms()[2:] {
		if id, err := f.parse(text); err == nil {
			return id, nil
		}
	}
	return 0, fmt.Errorf("%w: %q must be a decimal number from 0 to 2^63-1, hexadecimal digits that begin with 0x, or 13 (base32) or 11 (base62) characters", uid.ErrRange, text)
}

// parseHexadecimal parses 1 to 16 hexadecimal digits, with or without 0x.
func parseHexadecimal(text string) (uid.ID, error) {
	digits, hasPrefix := strings.CutPrefix(text, "0x")
	if !hasPrefix {
		digits = strings.TrimPrefix(text, "0X")
	}
	v, err := strconv.ParseUint(digits, 16, 63)
	if err != nil || len(digits) > 16 {
		return 0, fmt.Errorf("%w: %q must be 1 to 16 hexadecimal digits of a number from 0 to 2^63-1", uid.ErrRange, text)
	}
	return uid.ID(v), nil
}
