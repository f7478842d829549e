package segment

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"
)

func TestCheckTag(t *testing.T) {
	for _, tag := range []string{"a", "orders", "orders.stripe0of3", "...", ".a", "../a", "日報", "a b", strings.Repeat("x", MaxTagLength), "é"} {
		if err := CheckTag(tag); err != nil {
			t.Errorf("CheckTag(%q) = %v", tag, err)
		}
	}
	for _, tag := range []string{
		"", ".", "..", " ", " a", "a ", "a\t", "\u00a0a", "a\u2003", "a\x00b", "a\nb", "a\u0085", "\xff", "a\xc3",
		strings.Repeat("x", MaxTagLength+1), strings.Repeat("é", MaxTagLength/2+1),
	} {
		if err := CheckTag(tag); !errors.Is(err, ErrTag) {
			t.Errorf("CheckTag(%q) = %v, want ErrTag", tag, err)
		}
		if err := (Request{Tag: tag}).Validate(); !errors.Is(err, ErrTag) {
			t.Errorf("Validate of a request for %q = %v, want ErrTag", tag, err)
		}
	}
}

func TestRequestValidate(t *testing.T) {
	for _, r := range []Request{{Tag: "a"}, {Tag: "a", Size: MaxStep, AtLeast: math.MaxInt64}, {Tag: "a", Size: 1}} {
		if err := r.Validate(); err != nil {
			t.Errorf("%+v: %v", r, err)
		}
	}
	for _, r := range []Request{{Tag: "a", Size: -1}, {Tag: "a", Size: MaxStep + 1}, {Tag: "a", AtLeast: -1}} {
		if err := r.Validate(); !errors.Is(err, ErrOption) {
			t.Errorf("%+v: %v, want ErrOption", r, err)
		}
	}
}

func TestTagConfigValidate(t *testing.T) {
	for _, test := range []struct{ in, want TagConfig }{
		{TagConfig{}, TagConfig{Start: 1, Step: DefaultStep}},
		{TagConfig{Start: MaxNumber, Step: MaxStep}, TagConfig{Start: MaxNumber, Step: MaxStep}},
		{TagConfig{Start: 7, Step: 1, Description: strings.Repeat("é", MaxDescriptionLength), UnusedBefore: time.Unix(1, 0)},
			TagConfig{Start: 7, Step: 1, Description: strings.Repeat("é", MaxDescriptionLength), UnusedBefore: time.Unix(1, 0)}},
	} {
		if got, err := test.in.Validate(); err != nil || got != test.want {
			t.Errorf("%+v: %+v, %v; want %+v", test.in, got, err, test.want)
		}
	}
	for _, c := range []TagConfig{
		{Start: -1}, {Start: math.MaxInt64}, {Step: -1}, {Step: MaxStep + 1},
		{Description: strings.Repeat("x", MaxDescriptionLength+1)}, {Description: "a\nb"}, {Description: "\xff"},
	} {
		if _, err := c.Validate(); !errors.Is(err, ErrOption) {
			t.Errorf("%+v: %v, want ErrOption", c, err)
		}
	}
}
