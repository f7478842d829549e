package readme

import (
	"strings"
	"testing"

	"github.com/ringuid/ringuid/settings"
)

// The table of doc/settings.md has the keys of package settings, with their usage and their defaults.
func TestSettingKeys(t *testing.T) {
	rows := tables(t, "doc/settings.md", "key", "what it sets", "default")
	keys := settings.Keys()
	if len(rows) != len(keys) {
		t.Fatalf("the table has %d keys, want %d", len(rows), len(keys))
	}
	for i, key := range keys {
		want := []string{"`" + key.Name + "`", key.Usage, "none"}
		if key.Default != "" {
			want[2] = "`" + key.Default + "`"
		}
		if got := rows[i]; strings.Join(got, "|") != strings.Join(want, "|") {
			t.Errorf("row %d is %q, want\n| %s |", i+1, got, strings.Join(want, " | "))
		}
	}
}
