package uid_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"time"

	"github.com/ringuid/ringuid/uid"
	"github.com/ringuid/ringuid/workerassign"
)

// A readiness probe, and an alert that comes before the probe fails: leases of recycled.New have
// an end, so UIDs stop some time after the store cannot be reached.
func ExampleHealth() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	g, err := uid.NewCached(context.Background(), workerassign.NewFile(filepath.Join(dir, "worker")))
	if err != nil {
		log.Fatal(err)
	}

	ready := func(w http.ResponseWriter, r *http.Request) {
		h := g.Health()
		if !h.OK() {
			http.Error(w, h.Err.Error(), http.StatusServiceUnavailable)
			return
		}
		if h.Bounded && h.For < 15*time.Second {
			log.Print("the lease was not extended for a while: check the store")
		}
		fmt.Fprint(w, "ready")
	}
	probe := func() {
		w := httptest.NewRecorder()
		ready(w, httptest.NewRequest("GET", "/ready", nil))
		fmt.Println(w.Code, w.Body)
	}
	probe()
	g.Close()
	probe()
	// Output:
	// 200 ready
	// 503 uid: the generator is closed
}

// How long UIDs come without the assigner's store.
func ExampleCached_Health() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	g, err := uid.NewCached(context.Background(), workerassign.NewFile(filepath.Join(dir, "worker")))
	if err != nil {
		log.Fatal(err)
	}
	defer g.Close()

	h := g.Health()
	fmt.Println("can generate:", h.OK())
	fmt.Println("depends on the store:", h.Bounded) // only for rollovers
	fmt.Println("without it until", h.Until.Format(time.DateOnly))
	// Output:
	// can generate: true
	// depends on the store: false
	// without it until 2034-07-04
}
