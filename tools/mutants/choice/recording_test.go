//go:build unix

package choice

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// Numbers are recorded, next to those that another process has recorded before.
func TestReached(t *testing.T) {
	path := filepath.Join(t.TempDir(), "reached")
	if err := NewRecording(path); err != nil {
		t.Fatal(err)
	}
	recordTo(path)[9].Store(1)
	t.Cleanup(func() { reached = nil })
	reached = recordTo(path)
	Made(7)
	Of(3, "+", "-", "*")
	Made(7)
	Made(Most)
	if numbers, err := Recorded(path); err != nil || !slices.Equal(numbers, []int{3, 4, 7, 9, Most}) {
		t.Errorf("recorded: %d, %v", numbers, err)
	}
	if err := os.Truncate(path, 0); err != nil {
		t.Fatal(err)
	}
	if numbers, err := Recorded(path); err != nil || numbers != nil {
		t.Errorf("an empty file: %d, %v", numbers, err)
	}
	if _, err := Recorded(filepath.Join(t.TempDir(), "missing")); err == nil {
		t.Error("a file that does not exist has no error")
	}
}
