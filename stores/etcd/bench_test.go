package etcd

import (
	"testing"

	"github.com/ringuid/ringuid/internal/etcdtest"
	"github.com/ringuid/ringuid/internal/fleettest"
	"github.com/ringuid/ringuid/workerassign"
)

// Many hosts start at the same time.
func TestManyStarts(t *testing.T) {
	s := etcdtest.Start(t)
	fleettest.Starts(t, func() workerassign.SlotStore { return New(dial(t, s.Endpoint())) })
}

func BenchmarkAssign(b *testing.B) {
	fleettest.BenchmarkAssign(b, New(dial(b, etcdtest.Start(b).Endpoint())))
}

func BenchmarkReserve(b *testing.B) {
	s := etcdtest.Start(b)
	fleettest.BenchmarkReserve(b, func() workerassign.SlotStore { return New(dial(b, s.Endpoint())) })
}
