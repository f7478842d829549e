package bitsalloc_test

import (
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"testing"

	"github.com/ringuid/ringuid/bitsalloc"
)

var badTexts = []string{"", "1", "28-22-13", "1-28-22", "1-28-22-13-", "1-28-22-13-1", "-1-28-22-13", "0-28-22-13", "2-28-22-13",
	"1-28-22-14", "1-0-22-13", "1-28--22-13", "1-+28-22-13", "1-028-22-13", "1- 28-22-13", "1-28-22-13\n", "1-28-22-x", "1-284-22-13",
	"1-99999999999999999999-1-1", "1–28–22–13", "01-28-22-13"}

func TestParseLayout(t *testing.T) {
	for _, s := range []string{"1-28-22-13", "1-1-1-1", "1-61-1-1", "1-1-1-61", "1-41-10-12", "1-30-12-10"} {
		l, err := bitsalloc.ParseLayout(s)
		if err != nil || l.String() != s {
			t.Errorf("ParseLayout(%q) = %v, %v", s, l, err)
		}
	}
	for _, s := range badTexts {
		l, err := bitsalloc.ParseLayout(s)
		if !l.IsZero() || !errors.Is(err, bitsalloc.ErrLayout) || !strings.Contains(err.Error(), strconv.Quote(s)) {
			t.Errorf("ParseLayout(%q) = %v, %v; want ErrLayout with the text", s, l, err)
		}
	}
	if _, err := bitsalloc.ParseLayout("1-28-22-x"); err == nil || !strings.HasSuffix(err.Error(), `width "x" must be a number from 1 to 61`) {
		t.Errorf("the error does not say which widths are good: %v", err)
	}
}

func TestLayoutInAConfigurationFile(t *testing.T) {
	type config struct{ Layout bitsalloc.Layout }
	in := config{mustNew(t, 30, 27, 6)}
	text, err := json.Marshal(in)
	if err != nil || string(text) != `{"Layout":"1-30-27-6"}` {
		t.Fatalf("Marshal = %s, %v", text, err)
	}
	var out config
	if err := json.Unmarshal(text, &out); err != nil || out != in {
		t.Errorf("Unmarshal = %v, %v", out, err)
	}
	if err := json.Unmarshal([]byte(`{"Layout":"1-99-1-1"}`), &out); !errors.Is(err, bitsalloc.ErrLayout) || out != in {
		t.Errorf("a bad text left %v, %v; want what was there", out, err)
	}
}

func FuzzParseLayout(f *testing.F) {
	for _, s := range append(badTexts, "1-28-22-13", "1-61-1-1", "1-1-1-1") {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		l, err := bitsalloc.ParseLayout(s)
		if err != nil {
			if !l.IsZero() || !errors.Is(err, bitsalloc.ErrLayout) {
				t.Fatalf("ParseLayout(%q) = %v, %v", s, l, err)
			}
			return
		}
		if l.String() != s {
			t.Fatalf("ParseLayout(%q) = %v", s, l)
		}
		if again, err := bitsalloc.New(l.TimeBits(), l.WorkerBits(), l.SequenceBits()); err != nil || again != l {
			t.Fatalf("ParseLayout(%q) made a layout that New does not: %v", s, err)
		}
	})
}
