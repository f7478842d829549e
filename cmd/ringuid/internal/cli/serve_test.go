package cli

import (
	"reflect"
	"slices"
	"testing"

	"github.com/ringuid/ringuid/cmd/ringuid/internal/server"
)

// Each setting of the server is a flag, and each flag a setting.
func TestServeFlags(t *testing.T) {
	var flags []string
	v := reflect.ValueOf(&serveFlags{}).Elem()
	for i := range v.NumField() {
		flags = append(flags, flagName(v.Type().Field(i)))
		value := "x"
		v.Field(i).Set(reflect.ValueOf(&value))
	}
	given := v.Interface().(serveFlags).given()
	if len(given) != len(flags) {
		t.Errorf("%d of %d flags are passed on", len(given), len(flags))
	}
	want := server.FlagNames()
	slices.Sort(flags)
	slices.Sort(want)
	if !slices.Equal(flags, want) {
		t.Errorf("the flags are\n%q, and the settings\n%q", flags, want)
	}
	if r := run(t, "", nil, "serve", "--help"); r.status != 0 {
		t.Errorf("--help: %+v", r)
	}
}
