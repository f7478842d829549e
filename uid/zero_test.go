package uid

import (
	"context"
	"encoding/json"
	"errors"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/ringuid/ringuid/internal/testkit"
)

// The methods of nil and zero generators, and of what they return, return ErrOption or a zero value.
// None panics or waits.
func TestZeroGenerators(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	wantErrOption := func(what string, err error) {
		t.Helper()
		if !errors.Is(err, ErrOption) || errors.Is(err, ErrClosed) {
			t.Errorf("%s: %v, want ErrOption", what, err)
		}
	}
	id := ID(12345)
	for name, c := range map[string]*Cached{"nil Cached": nil, "zero Cached": new(Cached)} {
		_, err := c.Next()
		wantErrOption(name+".Next", err)
		_, err = c.NextContext(ctx)
		wantErrOption(name+".NextContext", err)
		for _, n := range []int{0, 1, 10} {
			_, err = c.NextN(make([]ID, n))
			wantErrOption(name+".NextN", err)
			_, err = c.NextNContext(ctx, make([]ID, n))
			wantErrOption(name+".NextNContext", err)
			_, err = c.Claim(ctx, n)
			wantErrOption(name+".Claim", err)
		}
		_, err = c.Local().Next()
		wantErrOption(name+".Local.Next", err)
		for _, err := range c.All(ctx) {
			wantErrOption(name+".All", err)
		}
		if st := c.Stats(); st != (Stats{}) {
			t.Errorf("%s.Stats: %+v", name, st)
		}
		wantErrOption(name+".Health", c.Health().Err)
		if p := c.Parse(id); p != (Parts{ID: id}) {
			t.Errorf("%s.Parse: %v", name, p)
		}
		if f := c.Format(); f != (Format{}) {
			t.Errorf("%s.Format: %v", name, f)
		}
		for range 2 {
			if err := c.Close(); err != nil {
				t.Errorf("%s.Close: %v", name, err)
			}
		}
	}
	for name, d := range map[string]*Default{"nil Default": nil, "zero Default": new(Default)} {
		_, err := d.Next()
		wantErrOption(name+".Next", err)
		_, err = d.NextContext(ctx)
		wantErrOption(name+".NextContext", err)
		_, err = d.NextN(make([]ID, 3))
		wantErrOption(name+".NextN", err)
		_, err = d.NextNContext(ctx, make([]ID, 3))
		wantErrOption(name+".NextNContext", err)
		if st := d.Stats(); st != (Stats{}) {
			t.Errorf("%s.Stats: %+v", name, st)
		}
		wantErrOption(name+".Health", d.Health().Err)
		if p := d.Parse(id); p != (Parts{ID: id}) {
			t.Errorf("%s.Parse: %v", name, p)
		}
		if f := d.Format(); f != (Format{}) {
			t.Errorf("%s.Format: %v", name, f)
		}
		for range 2 {
			if err := d.Close(); err != nil {
				t.Errorf("%s.Close: %v", name, err)
			}
		}
	}
	for name, l := range map[string]*Local{"nil Local": nil, "zero Local": new(Local)} {
		_, err := l.Next()
		wantErrOption(name+".Next", err)
		_, err = l.NextContext(ctx)
		wantErrOption(name+".NextContext", err)
	}
	for name, b := range map[string]*Block{"nil Block": nil, "zero Block": new(Block)} {
		if id, ok := b.Next(); ok || id != 0 {
			t.Errorf("%s.Next: %d, %v", name, id, ok)
		}
		if b.Len() != 0 || b.NextSize() != MinBlock {
			t.Errorf("%s: Len() = %d, NextSize() = %d", name, b.Len(), b.NextSize())
		}
		if moved := b.Move(); moved.Len() != 0 {
			t.Errorf("%s: Move() has %d UIDs", name, moved.Len())
		}
	}
}

// The zero values of the other types have no layout. No method panics, and those that can return an
// error do.
func TestZeroFormats(t *testing.T) {
	var f Format
	if s := f.Layout().String(); !f.Layout().IsZero() || s != "1-0-0-0" {
		t.Errorf("the layout is %s", s)
	}
	if id, err := f.Compose(time.Now(), 1, 1); err == nil {
		t.Errorf("Compose() = %d", id)
	}
	f.Epoch()
	f.Unit()
	f.End()
	if p := f.Parse(7); p.ID != 7 {
		t.Errorf("Parse() = %v", p)
	}
	if text, err := json.Marshal(Parts{}); err != nil || len(text) == 0 {
		t.Errorf("%s, %v", text, err)
	}
	if s := (Parts{}).String(); s == "" {
		t.Error("the zero Parts have no text")
	}
	var m Move
	if _, err := m.Check(); err == nil {
		t.Error("the zero Move has no error")
	}
	var none *ID
	for what, err := range map[string]error{"text": none.UnmarshalText([]byte("7")), "JSON": none.UnmarshalJSON([]byte("7")), "null": none.UnmarshalJSON([]byte("null"))} {
		if !errors.Is(err, ErrOption) {
			t.Errorf("%s into a nil ID: %v", what, err)
		}
	}
	if id, err := ParseID(""); err == nil {
		t.Errorf("ParseID() = %d", id)
	}
	if _, err := NewFormat(nil); !errors.Is(err, ErrOption) {
		t.Errorf("a nil option: %v", err)
	}
}

// go vet reports copies of types that must not be copied.
func TestVetReportsCopies(t *testing.T) {
	testkit.Slow(t, "it compiles the package for go vet")
	out, err := exec.Command("go", "vet", "./testdata/copies").CombinedOutput()
	if errors.Is(err, exec.ErrNotFound) {
		testkit.Missing(t, "the go command was not found, which go vet requires")
	}
	for _, name := range []string{"Local", "Block", "Cached", "Default"} {
		if want := "copies lock value to " + strings.ToLower(name); err == nil || !strings.Contains(string(out), want) {
			t.Errorf("go vet, for %s, does not report %q: %v\n%s", name, want, err, out)
		}
	}
}
