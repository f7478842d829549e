// Command kubernetes is an HTTP service for Kubernetes that generates UIDs. Its worker ID comes from a pool in a
// database, and is used again by later pods. There are two ways to run it:
//
//   - as a StatefulSet (statefulset.yaml): the worker ID of a pod is the ordinal in its name, 3 for orders-3. The
//     ordinal only chooses the worker ID: it is leased from the pool, so that two pods never have it at the same
//     time, not even if somebody force-deletes a pod on a node that cannot be reached.
//   - as a Deployment (deployment.yaml): a pod takes any free worker ID.
//
// It is configured by environment variables, which the manifests set:
//
//	DSN                    the database with the tables of schema.sql, user:password@tcp(host:3306)/ids
//	POD_NAME               the name of the pod, by the downward API
//	WORKER_ID_FROM         "ordinal" or "pool"
//	ADDRESS                the address to listen on; ":8080" by default
//	TERMINATION_DRAIN      for how long to serve after SIGTERM, until no new requests arrive; "5s" by default
//
// Before the first start of the fleet, an operator creates the pool with "ringuid pool create". Otherwise the first pods wait for
// about two minutes.
//
// It also runs without Kubernetes. For example, two pods of a StatefulSet:
//
//	mysql -e 'CREATE DATABASE ids' && mysql ids < schema.sql
//	export DSN='user:password@tcp(127.0.0.1:3306)/ids' WORKER_ID_FROM=ordinal
//	ringuid pool create --store "$DSN"
//	POD_NAME=orders-10 ADDRESS=127.0.0.1:8081 go run ./examples/kubernetes &
//	POD_NAME=orders-11 ADDRESS=127.0.0.1:8082 go run ./examples/kubernetes &
//	curl -X POST 127.0.0.1:8081/ids     # {"id":"964692638714380288","workerId":10}
//	curl 127.0.0.1:8082/ready           # {"ok":true,"until":"2026-11-21T22:57:47Z","for":14480679856,"bounded":true}
//
// GET /ready is the readiness probe: it reports whether the generator can generate UIDs, by its Health. GET /live is the
// liveness probe, which does not depend on the database: a restart would not help. POST /ids returns a UID.
package main

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
	"time"

	_ "github.com/go-sql-driver/mysql"

	"github.com/ringuid/ringuid/stores/sqlstore"
	"github.com/ringuid/ringuid/uid"
	"github.com/ringuid/ringuid/workerassign"
	"github.com/ringuid/ringuid/workerassign/recycled"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	if err := run(ctx, os.Getenv); err != nil {
		log.Fatal("kubernetes: ", err)
	}
}

const (
	assignTimeout   = 2 * time.Minute  // how long a start waits for its worker ID
	shutdownTimeout = 10 * time.Second // how long requests that have begun may take after the drain
)

// The options of the generators. A pod that crashed holds its worker ID until the end of its last grant, for at most
// maxBorrow + 1.5 × reserveAhead + a second and a half, which is about 27 s, and a grace of 10 s. After a clean end it is free
// in the next second, or as much later as UIDs were ahead of the clock.
const (
	reserveAhead = 10 * time.Second // an outage of the database that is no longer than this has no effect, if its calls fail at once: 10 s less if they hang
	maxBorrow    = 10 * time.Second
	boostPower   = 2
)

// run serves until ctx ends. Then it finishes the requests that have begun.
func run(ctx context.Context, getenv func(string) string) error {
	drain, err := time.ParseDuration(cmp.Or(getenv("TERMINATION_DRAIN"), "5s"))
	if err != nil {
		return fmt.Errorf("TERMINATION_DRAIN: %w", err)
	}
	if getenv("DSN") == "" {
		return errors.New("DSN must be set, for example to user:password@tcp(host:3306)/ids")
	}
	opts, err := recycledOptions(getenv)
	if err != nil {
		return err
	}
	db, err := sql.Open("mysql", getenv("DSN"))
	if err != nil {
		return err
	}
	defer db.Close() // after the generator, which uses it to extend and to release its lease
	workers := recycled.New(sqlstore.New(db), opts...)

	// The server listens before there is a worker ID, so that the probes get an answer.
	listener, err := net.Listen("tcp", cmp.Or(getenv("ADDRESS"), ":8080"))
	if err != nil {
		return err
	}
	service := &service{}
	server := &http.Server{Handler: service.handler(), ReadHeaderTimeout: 5 * time.Second}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	log.Printf("listening on %s", listener.Addr())

	assignCtx, cancel := context.WithTimeout(ctx, assignTimeout)
	defer cancel()
	g, err := uid.NewCached(assignCtx, workers,
		uid.WithReserveAhead(reserveAhead), uid.WithMaxBorrow(maxBorrow), uid.WithRollover(false), uid.WithBoostPower(boostPower))
	if err != nil {
		return errors.Join(err, server.Close())
	}
	service.generator.Store(g)
	log.Printf("the worker ID is %d", g.Stats().WorkerID)

	select {
	case err := <-served: // the listener failed
		return errors.Join(err, g.Close())
	case <-ctx.Done():
	}
	// Kubernetes sends SIGTERM at the same time as it begins to take the pod out of its services, so requests may
	// arrive for some more seconds. After them, Close comes last. It releases the worker ID.
	service.ending.Store(true)
	time.Sleep(drain)
	timeout, cancel := context.WithTimeout(context.Background(), shutdownTimeout)
	defer cancel()
	return errors.Join(server.Shutdown(timeout), g.Close())
}

// recycledOptions returns the options that choose the worker ID.
func recycledOptions(getenv func(string) string) ([]recycled.Option, error) {
	pod := getenv("POD_NAME")
	if pod == "" {
		return nil, errors.New("POD_NAME must be set to the name of the pod")
	}
	// The name is in the pool, for operators. It also leads a container that was restarted in its pod to the
	// worker ID that it had.
	opts := []recycled.Option{recycled.WithName(pod)}
	switch from := getenv("WORKER_ID_FROM"); from {
	case "ordinal":
		ordinal, err := workerassign.StatefulSetOrdinal(pod)
		if err != nil {
			return nil, err
		}
		opts = append(opts, recycled.WithWorkerID(ordinal))
	case "pool":
	default:
		return nil, fmt.Errorf(`WORKER_ID_FROM is %q; must be "ordinal" or "pool"`, from)
	}
	return opts, nil
}

// service answers requests.
type service struct {
	generator atomic.Pointer[uid.Cached] // nil until there is a worker ID
	ending    atomic.Bool                // SIGTERM was received
}

func (s *service) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /live", func(w http.ResponseWriter, r *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET /ready", s.ready)
	mux.HandleFunc("POST /ids", s.newID)
	return mux
}

// ready reports whether the service can generate UIDs now, and for how long if the database cannot be reached.
func (s *service) ready(w http.ResponseWriter, r *http.Request) {
	g := s.generator.Load()
	switch {
	case g == nil:
		http.Error(w, "there is no worker ID yet", http.StatusServiceUnavailable)
		return
	case s.ending.Load():
		http.Error(w, "the pod ends", http.StatusServiceUnavailable)
		return
	}
	health := g.Health()
	w.Header().Set("Content-Type", "application/json")
	if !health.OK() {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	json.NewEncoder(w).Encode(health)
}

func (s *service) newID(w http.ResponseWriter, r *http.Request) {
	g := s.generator.Load()
	if g == nil {
		http.Error(w, "no UID is available yet", http.StatusServiceUnavailable)
		return
	}
	// The request's context bounds the wait: it ends when the client closes the connection.
	id, err := g.NextContext(r.Context())
	if err != nil {
		log.Printf("a request got no UID: %v", err)
		http.Error(w, "no UID is available; try again later", http.StatusServiceUnavailable)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(map[string]any{"id": id, "workerId": g.Parse(id).WorkerID}) // the ID is a string in JSON
}
