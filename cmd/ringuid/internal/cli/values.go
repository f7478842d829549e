package cli

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/alecthomas/kong"
)

// A mapper reads the values of one kind of flags and arguments. Its errors say what a value must be. Those of the parser's own mappers
// name types of Go.
type mapper struct {
	must   string // what a value must be; the tag must of a field says more
	parse  func(text string, target reflect.Value) error
	isBool bool // the value may be missing, and must follow = otherwise
}

// IsBool implements kong.BoolMapper.
func (m mapper) IsBool() bool { return m.isBool }

// Decode implements kong.Mapper. The parser adds the name of the flag or argument and a colon to the error.
func (m mapper) Decode(ctx *kong.DecodeContext, target reflect.Value) error {
	next := ctx.Scan.Peek()
	switch {
	case m.isBool && next.Type != kong.FlagValueToken:
		target.SetBool(true)
		return nil
	case next.IsEOL():
		return errors.New("missing value")
	case !next.IsValue():
		return fmt.Errorf("missing value; one that begins with - must follow =, as in --%s=%v", ctx.Value.Name, next.Value)
	}
	text := fmt.Sprint(ctx.Scan.Pop().Value)
	if next.Type == kong.ShortFlagTailToken {
		text = strings.TrimPrefix(text, "=") // -n=3 is -n3
	}
	must := m.must
	if of := ctx.Value.Tag.Get("must"); of != "" {
		must = of
	}
	if err := m.parse(text, target); err != nil {
		return wrongValue(text, must)
	}
	if enum := slices.DeleteFunc(ctx.Value.EnumSlice(), func(v string) bool { return v == "" }); len(enum) > 0 && text != "" && !slices.Contains(enum, text) {
		last := len(enum) - 1
		return wrongValue(text, strings.Join(enum[:last], ", ")+" or "+enum[last])
	}
	return nil
}

// wrongValue returns the error for a value of a flag or argument.
func wrongValue(text, must string) error { return fmt.Errorf("is %q; must be %s", text, must) }

// mappers returns the mappers of all types of flags and arguments.
func mappers() []kong.Option {
	integer := mapper{must: "an integer", parse: func(text string, target reflect.Value) error {
		n, err := strconv.ParseInt(text, 10, target.Type().Bits()) // 010 is ten
		target.SetInt(n)
		return err
	}}
	return []kong.Option{
		kong.KindMapper(reflect.Int, integer),
		kong.KindMapper(reflect.Int64, integer),
		kong.KindMapper(reflect.Float64, mapper{must: "a number", parse: func(text string, target reflect.Value) error {
			v, err := strconv.ParseFloat(text, 64)
			target.SetFloat(v)
			return err
		}}),
		kong.KindMapper(reflect.String, mapper{parse: func(text string, target reflect.Value) error {
			target.SetString(text)
			return nil
		}}),
		kong.KindMapper(reflect.Bool, mapper{must: "true or false", isBool: true, parse: func(text string, target reflect.Value) error {
			v, err := strconv.ParseBool(text)
			target.SetBool(v)
			return err
		}}),
		kong.TypeMapper(reflect.TypeFor[time.Duration](), mapper{must: "a duration, such as 30s or 1m30s", parse: func(text string, target reflect.Value) error {
			d, err := time.ParseDuration(text)
			target.SetInt(int64(d))
			return err
		}}),
	}
}

// named returns the text of an error that begins with the name of a flag, with the name that the user knows: that of the variable which
// has set the flag, or the short name if there is no other one.
func (a *App) named(text string) string {
	end := strings.IndexFunc(text+" ", func(r rune) bool { return r != '-' && (r < 'a' || r > 'z') })
	name, rest := text[:end], text[end:]
	if variable, ok := a.variables[name]; ok {
		return variable + rest
	}
	if strings.HasPrefix(name, "--") && len(name) == len("--n") {
		return name[1:] + rest
	}
	return text
}
