package readme

import (
	"strings"
	"testing"

	"github.com/ringuid/ringuid/uid"
)

// The table of doc/settings.md has the keys of uid.Settings, with their usage and the defaults that are in force.
func TestSettingKeys(t *testing.T) {
	cached, err := uid.Settings{}.InForce()
	if err != nil {
		t.Fatal(err)
	}
	other, err := uid.Settings{Generator: uid.GeneratorDefault}.InForce()
	if err != nil {
		t.Fatal(err)
	}
	rows := tables(t, "doc/settings.md", "key", "what it sets", "default")
	keys := uid.SettingKeys()
	if len(rows) != len(keys) {
		t.Fatalf("the table has %d keys, want %d", len(rows), len(keys))
	}
	for i, key := range keys {
		value, ok := cached.Get(key.Name)
		if !ok {
			value, ok = other.Get(key.Name)
		}
		want := []string{"`" + key.Name + "`", key.Usage, "none"}
		if ok {
			want[2] = "`" + value + "`"
		}
		if got := rows[i]; strings.Join(got, "|") != strings.Join(want, "|") {
			t.Errorf("row %d is %q, want\n| %s |", i+1, got, strings.Join(want, " | "))
		}
	}
}
