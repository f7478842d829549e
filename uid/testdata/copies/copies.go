// Package copies copies what must not be copied, for a test that go vet finds it.
package copies

import "github.com/ringuid/ringuid/uid"

// Copies copies.
func Copies(c *uid.Cached, d *uid.Default, l *uid.Local, s *uid.Block) {
	cached := *c
	default_ := *d
	local := *l
	block := *s
	_, _, _, _ = &cached, &default_, &local, &block
}
