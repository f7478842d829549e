// Command example serves UIDs and order numbers, and the metrics of both for Prometheus:
//
//	cd metrics/promcollect
//	go run ./example -dir /var/lib/orders -create    # once: creates the tags
//	go run ./example -dir /var/lib/orders            # each start
//	curl http://127.0.0.1:8080/uid
//	curl http://127.0.0.1:8080/numbers/books
//	curl http://127.0.0.1:8080/metrics
//
// For each request of /metrics the statistics are read once. Taking a UID costs nothing more than without metrics.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/ringuid/ringuid/metrics/promcollect"
	"github.com/ringuid/ringuid/segment"
	"github.com/ringuid/ringuid/stores/filestore"
	"github.com/ringuid/ringuid/uid"
	"github.com/ringuid/ringuid/workerassign"
)

func main() {
	addr := flag.String("addr", "127.0.0.1:8080", "address to listen on")
	dir := flag.String("dir", "", "directory of the worker file and the file of the numbers; it must not be lost between starts")
	create := flag.Bool("create", false, "create the tags, and end: once, because after a loss of the file their numbers would begin at 1 again")
	flag.Parse()
	if *create {
		if err := createTags(context.Background(), *dir); err != nil {
			log.Fatal("example: ", err)
		}
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	listener, err := net.Listen("tcp", *addr)
	if err != nil {
		log.Fatal("example: ", err)
	}
	log.Printf("listening on %s", listener.Addr())
	if err := run(ctx, listener, *dir); err != nil {
		log.Fatal("example: ", err)
	}
}

// openSource returns the source of the numbers.
func openSource(dir string) (*filestore.Store, error) {
	if dir == "" {
		return nil, errors.New("-dir must name a directory, for example /var/lib/orders")
	}
	return filestore.New(filepath.Join(dir, "numbers")), nil
}

// createTags creates the tags. If one exists, it returns segment.ErrTagExists.
func createTags(ctx context.Context, dir string) error {
	source, err := openSource(dir)
	if err != nil {
		return err
	}
	for _, tag := range []string{"books", "returns"} {
		if err := source.CreateTag(ctx, tag, segment.TagConfig{}); err != nil {
			return err
		}
	}
	return nil
}

// run serves until ctx ends. It closes the listener.
func run(ctx context.Context, listener net.Listener, dir string) (err error) {
	defer listener.Close()
	source, err := openSource(dir)
	if err != nil {
		return err
	}
	// ONE HOST ONLY: services on two hosts with files of their own would generate the same UIDs and numbers. For more
	// than one host, use workerassign.NewDisposable and sqlstore.New.
	g, err := uid.NewCached(ctx, workerassign.NewFile(filepath.Join(dir, "worker")))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, g.Close()) }()
	numbers, err := segment.NewTags(source)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, numbers.Close()) }()
	server := &http.Server{Handler: handler(g, numbers), ReadHeaderTimeout: 5 * time.Second}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	select {
	case err := <-served: // the listener failed
		return err
	case <-ctx.Done():
	}
	timeout, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	return server.Shutdown(timeout) // before the generators are closed, because handlers use them
}

// handler returns the service's routes.
func handler(g *uid.Cached, numbers *segment.Tags) http.Handler {
	// A registry of its own has only these metrics. With prometheus.DefaultRegisterer, they are next to those of the
	// Go runtime.
	registry := prometheus.NewRegistry()
	registry.MustRegister(
		promcollect.NewGeneratorCollector(g, promcollect.WithName("orders")),
		promcollect.NewTagsCollector(numbers, promcollect.WithName("numbers"), promcollect.WithMaxTags(20)),
	)
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	mux.HandleFunc("GET /uid", func(w http.ResponseWriter, r *http.Request) {
		id, err := g.NextContext(r.Context())
		write(w, id, err)
	})
	mux.HandleFunc("GET /numbers/{tag}", func(w http.ResponseWriter, r *http.Request) {
		n, err := numbers.NextContext(r.Context(), r.PathValue("tag"))
		write(w, n, err)
	})
	return mux
}

// write answers with a number, or with status 503.
func write(w http.ResponseWriter, number any, err error) {
	switch {
	case errors.Is(err, segment.ErrNoTag), errors.Is(err, segment.ErrTag):
		http.Error(w, "there is no such tag", http.StatusNotFound)
		return
	case err != nil:
		log.Print(err)
		http.Error(w, "no number is available; try again later", http.StatusServiceUnavailable)
		return
	}
	fmt.Fprintln(w, number)
}
