package zookeeper

import (
	"testing"

	"github.com/ringuid/ringuid/internal/fleettest"
	"github.com/ringuid/ringuid/internal/zookeepertest"
	"github.com/ringuid/ringuid/workerassign"
)

// Many hosts start at the same time.
func TestManyStarts(t *testing.T) {
	s := zookeepertest.Start(t)
	fleettest.Starts(t, func() workerassign.SlotStore { return New(dial(t, s.Address())) })
}

func BenchmarkAssign(b *testing.B) {
	fleettest.BenchmarkAssign(b, New(dial(b, zookeepertest.Start(b).Address())))
}

func BenchmarkReserve(b *testing.B) {
	s := zookeepertest.Start(b)
	fleettest.BenchmarkReserve(b, func() workerassign.SlotStore { return New(dial(b, s.Address())) })
}
