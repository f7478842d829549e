package etcdstore

import (
	"bufio"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/ringuid/ringuid/internal/testkit/etcdtest"
	"github.com/ringuid/ringuid/internal/testkit/fleettest"
	"github.com/ringuid/ringuid/workerassign/recycled"
)

// requests returns how many reads and transactions the server has executed.
func requests(t *testing.T, s *etcdtest.Server) (sum int64) {
	resp, err := http.Get("http://" + s.Endpoint() + "/metrics")
	if err != nil {
		t.Error(err)
		return 0
	}
	defer resp.Body.Close()
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		name, value, _ := strings.Cut(lines.Text(), "} ")
		if strings.HasPrefix(name, "grpc_server_handled_total") && strings.Contains(name, `grpc_service="etcdserverpb.KV"`) {
			n, err := strconv.ParseFloat(value, 64)
			if err != nil {
				t.Error(err)
			}
			sum += int64(n)
		}
	}
	return sum
}

// What the store costs: see the parts.
func TestMeasure(t *testing.T) {
	fleettest.NeedsMeasure(t)
	s := etcdtest.Start(t)
	version, err := dial(t, s.Endpoint()).Status(t.Context(), s.Endpoint())
	if err != nil {
		t.Fatal(err)
	}
	target := fleettest.Target{
		Name:       "etcd " + version.Version,
		Open:       func(pool string) recycled.Store { return New(dial(t, s.Endpoint()), WithPrefix(pool+"/")) },
		Statements: func() int64 { return requests(t, s) },
		Statement:  "transactions",
	}
	fleettest.Measure(t, target, fleettest.Assigns, fleettest.Starts, fleettest.Upkeep)
}

func BenchmarkAssign(b *testing.B) {
	fleettest.BenchmarkAssign(b, New(dial(b, etcdtest.Start(b).Endpoint())))
}

func BenchmarkReserve(b *testing.B) {
	s := etcdtest.Start(b)
	fleettest.BenchmarkReserve(b, func() recycled.Store { return New(dial(b, s.Endpoint())) })
}
