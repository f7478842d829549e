// Package copies copies types that must not be copied. A test checks that go vet reports it.
package copies

import "github.com/ringuid/ringuid/uid"

// Copies copies its arguments.
func Copies(c *uid.Cached, d *uid.Default, l *uid.Local, s *uid.Block) {
	cached := *c
	defaultCopy := *d
	local := *l
	block := *s
	_, _, _, _ = &cached, &defaultCopy, &local, &block
}
