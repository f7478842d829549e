//go:build unix

package allstores

import (
	"testing"

	"github.com/ringuid/ringuid/internal/testkit"
	"github.com/ringuid/ringuid/stores/storetest"
	"github.com/ringuid/ringuid/stores/storetest/linear"
)

// Each call of a store has its effect at one instant between its call and its return, while the server is killed, is paused, loses requests,
// replies and writes, executes writes late, and has another clock. Clusters are left out: linear.Run requires that calls
// fail while a server is killed, and a cluster answers.
func TestLinearizable(t *testing.T) {
	testkit.Slow(t, "it starts servers")
	onEach(t, false, func(t *testing.T, h storetest.Harness, _ addressFunc) { linear.Run(t, h) })
}
