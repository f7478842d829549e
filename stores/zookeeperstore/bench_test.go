package zookeeperstore

import (
	"testing"

	"github.com/ringuid/ringuid/internal/testkit/fleettest"
	"github.com/ringuid/ringuid/internal/testkit/zookeepertest"
	"github.com/ringuid/ringuid/workerassign/recycled"
)

// What the store costs: see the parts.
func TestMeasure(t *testing.T) {
	fleettest.NeedsMeasure(t)
	s := zookeepertest.Start(t)
	target := fleettest.Target{
		Name: "ZooKeeper " + s.Version(),
		Open: func(pool string) recycled.Store { return New(dial(t, s.Address()), WithPath("/"+pool)) },
	}
	fleettest.Measure(t, target, fleettest.Assigns, fleettest.Starts)
}

func BenchmarkAssign(b *testing.B) {
	fleettest.BenchmarkAssign(b, New(dial(b, zookeepertest.Start(b).Address())))
}

func BenchmarkReserve(b *testing.B) {
	s := zookeepertest.Start(b)
	fleettest.BenchmarkReserve(b, func() recycled.Store { return New(dial(b, s.Address())) })
}
