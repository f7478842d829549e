// Command httpservice is an HTTP service that gives each order a UID:
//
//	export RINGUID_ASSIGNER=disposable RINGUID_STORE=file:/var/lib/orders/worker
//	go run ./examples/httpservice
//	curl -d '{"item": "book"}' http://127.0.0.1:8080/orders
//
// It shows where the calls of a generator belong in a service: NewGenerator before the server starts,
// NextContext with the request's context in the handler, and Close after the server's Shutdown.
//
// It also shows how a service is configured by package settings: from a file of JSON (-config), and from environment variables,
// which replace what is in the file.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/ringuid/ringuid/settings"
	"github.com/ringuid/ringuid/uid"
)

func main() {
	addr := flag.String("addr", "127.0.0.1:8080", "address to listen on")
	config := flag.String("config", "", "file of JSON with the settings of the generator")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	s, err := readSettings(*config, os.LookupEnv)
	// A misspelt RINGUID_LAYOUT would be ignored, and the service would have another layout than its fleet.
	if err = errors.Join(err, settings.CheckEnviron(settings.Prefix, os.Environ())); err == nil {
		err = run(ctx, *addr, s)
	}
	if err != nil {
		log.Fatal("httpservice: ", err)
	}
}

// readSettings reads the settings of the generator from a file, if there is one, and from the environment.
func readSettings(file string, lookup func(string) (string, bool)) (s settings.Settings, err error) {
	if file != "" {
		text, err := os.ReadFile(file)
		if err != nil {
			return s, err
		}
		if err := json.Unmarshal(text, &s); err != nil {
			return s, fmt.Errorf("%s: %w", file, err)
		}
	}
	err = s.ReadEnv(settings.Prefix, lookup)
	return s, err
}

// run serves until ctx ends. Then it finishes the requests that have begun.
func run(ctx context.Context, addr string, s settings.Settings) error {
	// ONE HOST ONLY: services on two hosts with a file each would generate the same UIDs. For more than one host, open a
	// database as examples/mysql does, and pass it in the Backend.
	workers, err := s.NewAssigner(settings.Backend{})
	if err != nil {
		return err
	}
	g, err := s.NewGenerator(ctx, workers)
	if err != nil {
		return err
	}
	log.Printf("generating UIDs: %v", s)
	listener, err := net.Listen("tcp", addr)
	if err != nil {
		return errors.Join(err, g.Close())
	}
	server := &http.Server{Handler: handler(g.NextContext), ReadHeaderTimeout: 5 * time.Second}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	log.Printf("listening on %s", listener.Addr())

	select {
	case err := <-served: // the listener failed
		return errors.Join(err, g.Close())
	case <-ctx.Done():
	}
	// Shutdown returns when no handler runs any more, or after 10 s. Close comes after it, because
	// handlers take UIDs until they return.
	timeout, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	return errors.Join(server.Shutdown(timeout), g.Close())
}

// handler answers requests with UIDs from next, which is a generator's NextContext.
func handler(next func(context.Context) (uid.ID, error)) http.Handler {
	type order struct {
		ID   uid.ID `json:"id"` // a string in JSON, because JavaScript rounds numbers beyond 2^53
		Item string `json:"item"`
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /orders", func(w http.ResponseWriter, r *http.Request) {
		var o order
		if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<16)).Decode(&o); err != nil {
			http.Error(w, `the body must be an order, for example {"item": "book"}`, http.StatusBadRequest)
			return
		}
		var err error
		// The request's context bounds the wait: it ends when the client closes the connection.
		if o.ID, err = next(r.Context()); err != nil {
			log.Printf("an order got no UID: %v", err)
			http.Error(w, "no UID is available; try again later", http.StatusServiceUnavailable)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Location", "/orders/"+o.ID.String())
		w.WriteHeader(http.StatusCreated)
		json.NewEncoder(w).Encode(o)
	})
	return mux
}
