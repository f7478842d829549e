package main

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/net/netutil"

	"github.com/ringuid/ringuid/cmd/ringuid/internal/server"
	"github.com/ringuid/ringuid/metrics/promcollect"
	"github.com/ringuid/ringuid/uid"
	"github.com/ringuid/ringuid/workerassign"

	"github.com/prometheus/client_golang/prometheus"
)

// serve serves on a free port until ctx ends. It prints the address.
func serve(ctx context.Context, role string) error {
	cfg := server.DefaultConfig()
	cfg.Listen, cfg.Drain = "127.0.0.1:0", 0
	l, err := server.Listen(ctx, cfg)
	if err != nil {
		return err
	}
	fmt.Println(l.Addr())
	if role == "constant" {
		s := &http.Server{
			Handler: constant(), ReadHeaderTimeout: cfg.HeaderTimeout, ReadTimeout: cfg.ReadTimeout, WriteTimeout: cfg.WriteTimeout,
			IdleTimeout: cfg.IdleTimeout, MaxHeaderBytes: cfg.MaxHeader,
		}
		context.AfterFunc(ctx, func() { s.Close() })
		if err := s.Serve(netutil.LimitListener(l, cfg.MaxConnections)); err != http.ErrServerClosed {
			return err
		}
		return nil
	}
	dir, err := os.MkdirTemp("", "benchserver")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	g, err := uid.NewCached(ctx, workerassign.NewFile(filepath.Join(dir, "worker")), uid.WithLogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		return err
	}
	defer g.Close()
	s, err := server.New(cfg, server.Options{UIDs: g, Logger: log, Collectors: []prometheus.Collector{promcollect.NewGeneratorCollector(g)}})
	if err != nil {
		return err
	}
	return s.Serve(ctx, l)
}

// constant returns the handler that always returns the same bytes: as many as the server for one UID, and for 1,000.
func constant() http.Handler {
	const id = `"962392666547429376"`
	one := []byte(`{"id":` + id + "}\n")
	many := []byte(`{"ids":[` + strings.Repeat(id+",", 999) + id + "]}\n")
	length := []string{strconv.Itoa(len(many))}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header()["Content-Type"] = []string{"application/json"}
		if r.URL.RawQuery != "" {
			w.Header()["Content-Length"] = length
			w.Write(many)
			return
		}
		w.Write(one)
	})
}

// measureMemory prints the memory of the server under load, and returns an error if it grows after the first fifth of the
// time.
func measureMemory(ctx context.Context, total time.Duration, connections int) error {
	c, err := startChild(ctx, "ringuid")
	if err != nil {
		return err
	}
	defer c.stop()
	interval := total / 30
	var resident []int
	requests := 0
	fmt.Println("| time | requests | resident, KiB |")
	fmt.Println("|---|---|---|")
	for begin := time.Now(); time.Since(begin) < total; {
		for _, path := range []string{"/v1/uid", "/v1/uid?n=1000"} {
			r, err := load(ctx, c.addr, path, connections, interval/2)
			if err != nil {
				return err
			}
			requests += len(r.latencies)
		}
		kib, err := residentKiB(c.cmd.Process.Pid)
		if err != nil {
			return err
		}
		resident = append(resident, kib)
		fmt.Printf("| %v | %d | %d |\n", time.Since(begin).Round(time.Second), requests, kib)
	}
	early, late := greatest(resident[len(resident)/5:len(resident)*3/5]), greatest(resident[len(resident)*3/5:])
	fmt.Printf("\ngreatest of the second and third fifth: %d KiB; of the last two: %d KiB\n", early, late)
	if late > early+early/10 {
		return fmt.Errorf("the memory has grown from %d to %d KiB", early, late)
	}
	return nil
}

// greatest returns the greatest number.
func greatest(list []int) (n int) {
	for _, v := range list {
		n = max(n, v)
	}
	return n
}

// residentKiB returns the resident memory of a process, on Linux.
func residentKiB(pid int) (int, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			return strconv.Atoi(strings.TrimSuffix(strings.TrimSpace(rest), " kB"))
		}
	}
	return 0, fmt.Errorf("/proc/%d/status has no VmRSS", pid)
}

// processorTime returns the CPU time that a process has used, on Linux.
func processorTime(pid int) (time.Duration, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	_, rest, _ := strings.Cut(string(text), ") ") // after the name, which may have spaces
	fields := strings.Fields(rest)
	if len(fields) < 13 {
		return 0, fmt.Errorf("/proc/%d/stat has %d fields", pid, len(fields))
	}
	const tick = 10 * time.Millisecond // of all Linux systems that Go supports
	var ticks int
	for _, field := range fields[11:13] { // utime and stime
		n, err := strconv.Atoi(field)
		if err != nil {
			return 0, err
		}
		ticks += n
	}
	return time.Duration(ticks) * tick, nil
}
