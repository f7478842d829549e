package schematest

import "testing"

// Comments in another form than parse requires are errors.
func TestParseWrong(t *testing.T) {
	for _, wrong := range []string{"--   SELECT 1;\n", "--       SELECT 1\n-- prose\n", "--       SELECT\nCREATE TABLE"} {
		if c, err := parse(wrong); err == nil {
			t.Errorf("parse(%q) returns the statements %q, want an error", wrong, c.statements)
		}
	}
}
