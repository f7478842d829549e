package segment

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// CheckTag returns an error that wraps ErrTag if the name of a tag is invalid: see Request.Tag. Spaces at the
// beginning and at the end are not allowed, because some databases ignore them; "." and ".." are not, because
// HTTP clients remove them from the path of a URL.
func CheckTag(tag string) error {
	switch {
	case tag == "":
		return fmt.Errorf("%w: the tag is empty; must have 1 to %d bytes", ErrTag, MaxTagLength)
	case len(tag) > MaxTagLength:
		return fmt.Errorf("%w: the tag %.40q… has %d bytes; must have 1 to %d", ErrTag, tag, len(tag), MaxTagLength)
	case !utf8.ValidString(tag):
		return fmt.Errorf("%w: the tag %q is not valid UTF-8", ErrTag, tag)
	case strings.ContainsFunc(tag, unicode.IsControl):
		return fmt.Errorf("%w: the tag %q contains a control character", ErrTag, tag)
	case strings.TrimSpace(tag) != tag:
		return fmt.Errorf("%w: the tag %q begins or ends with a space", ErrTag, tag)
	case tag == "." || tag == "..":
		return fmt.Errorf("%w: the tag is %q; must not be . or .., which HTTP clients remove from the path of a URL", ErrTag, tag)
	}
	return nil
}

// Validate returns c with its defaults, or an error that wraps ErrOption if a field is out of range. Creators call
// it at the beginning of CreateTag.
func (c TagConfig) Validate() (TagConfig, error) {
	switch {
	case c.Start < 0 || c.Start > MaxNumber:
		return c, fmt.Errorf("%w: the start of a tag is %d; must be 0 (which means 1) to %d", ErrOption, c.Start, int64(MaxNumber))
	case c.Step < 0 || c.Step > MaxStep:
		return c, fmt.Errorf("%w: the step of a tag is %d; must be 0 (which means %d) to %d", ErrOption, c.Step, DefaultStep, int64(MaxStep))
	case utf8.RuneCountInString(c.Description) > MaxDescriptionLength:
		return c, fmt.Errorf("%w: the description of a tag has %d characters; must have at most %d",
			ErrOption, utf8.RuneCountInString(c.Description), MaxDescriptionLength)
	case !utf8.ValidString(c.Description) || strings.ContainsFunc(c.Description, unicode.IsControl):
		return c, fmt.Errorf("%w: the description %q of a tag contains a control character or is not valid UTF-8", ErrOption, c.Description)
	}
	if c.Start == 0 {
		c.Start = 1
	}
	if c.Step == 0 {
		c.Step = DefaultStep
	}
	return c, nil
}
