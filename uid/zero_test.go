package uid

import (
	"context"
	"encoding/json"
	"errors"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/ringuid/ringuid/internal/testreq"
)

// The methods of nil and zero generators and of what is claimed of them return ErrOption or
// nothing; none faults or waits.
func TestZeroGenerators(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	bad := func(what string, err error) {
		t.Helper()
		if !errors.Is(err, ErrOption) || errors.Is(err, ErrClosed) {
			t.Errorf("%s: %v, want ErrOption", what, err)
		}
	}
	id := ID(12345)
	for name, c := range map[string]*Cached{"nil Cached": nil, "zero Cached": new(Cached)} {
		_, err := c.Next()
		bad(name+".Next", err)
		_, err = c.NextContext(ctx)
		bad(name+".NextContext", err)
		for _, n := range []int{0, 1, 10} {
			_, err = c.NextN(make([]ID, n))
			bad(name+".NextN", err)
			_, err = c.NextNContext(ctx, make([]ID, n))
			bad(name+".NextNContext", err)
			_, err = c.Claim(ctx, n)
			bad(name+".Claim", err)
		}
		_, err = c.Local().Next()
		bad(name+".Local.Next", err)
		for _, err := range c.All(ctx) {
			bad(name+".All", err)
		}
		bad(name+".Stats", c.Stats().LastError)
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
		bad(name+".Next", err)
		_, err = d.NextContext(ctx)
		bad(name+".NextContext", err)
		_, err = d.NextN(make([]ID, 3))
		bad(name+".NextN", err)
		_, err = d.NextNContext(ctx, make([]ID, 3))
		bad(name+".NextNContext", err)
		bad(name+".Stats", d.Stats().LastError)
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
		bad(name+".Next", err)
		_, err = l.NextContext(ctx)
		bad(name+".NextContext", err)
	}
	for name, s := range map[string]*Block{"nil Block": nil, "zero Block": new(Block)} {
		if id, ok := s.Next(); ok || id != 0 {
			t.Errorf("%s.Next: %d, %v", name, id, ok)
		}
		if s.Len() != 0 || s.NextSize() != MinBlock {
			t.Errorf("%s has %d, and the next %d", name, s.Len(), s.NextSize())
		}
		if moved := s.Move(); moved.Len() != 0 {
			t.Errorf("%s moves %d", name, moved.Len())
		}
	}
}

// The zero values of the other types have no layout: nothing of them faults, and what can fail does.
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
		t.Error("the zero Move is fine")
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

// What must not be copied is found by go vet.
func TestVetFindsCopies(t *testing.T) {
	out, err := exec.Command("go", "vet", "./testdata/copies").CombinedOutput()
	if errors.Is(err, exec.ErrNotFound) {
		testreq.Missing(t, "the go command was not found, and go vet with it")
	}
	for _, name := range []string{"Local", "Block", "Cached", "Default"} {
		if want := "copies lock value to " + strings.ToLower(name); err == nil || !strings.Contains(string(out), want) {
			t.Errorf("go vet does not say that %s %s: %v\n%s", name, want, err, out)
		}
	}
}
