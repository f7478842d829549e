package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"sync"
	"time"
)

// A result is what one measurement has found.
type result struct {
	latencies []time.Duration // sorted
	elapsed   time.Duration
	processor time.Duration // CPU time of the server
}

// rate returns the requests per second.
func (r result) rate() float64 { return float64(len(r.latencies)) / r.elapsed.Seconds() }

// p99 returns the latency that 99 of 100 requests did not exceed, in nanoseconds.
func (r result) p99() float64 { return float64(r.latencies[len(r.latencies)*99/100]) }

// load sends requests for a path over connections, for a time.
func load(ctx context.Context, addr, path string, connections int, each time.Duration) (result, error) {
	var (
		wg   sync.WaitGroup
		mu   sync.Mutex
		all  result
		errs []error
	)
	begin := time.Now()
	for range connections {
		wg.Go(func() {
			latencies, err := requests(ctx, addr, path, begin.Add(each))
			mu.Lock()
			defer mu.Unlock()
			all.latencies = append(all.latencies, latencies...)
			if err != nil {
				errs = append(errs, err)
			}
		})
	}
	wg.Wait()
	all.elapsed = time.Since(begin)
	slices.Sort(all.latencies)
	if len(errs) == 0 && len(all.latencies) == 0 {
		errs = append(errs, errors.New("no request was answered"))
	}
	return all, errors.Join(errs...)
}

// requests sends requests one after the other until a time.
func requests(ctx context.Context, addr, path string, until time.Time) (latencies []time.Duration, err error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	request := []byte("GET " + path + " HTTP/1.1\r\nHost: localhost\r\n\r\n")
	in := bufio.NewReaderSize(conn, 64<<10)
	for now := time.Now(); now.Before(until); {
		if _, err := conn.Write(request); err != nil {
			return latencies, err
		}
		if err := readAnswer(in); err != nil {
			return latencies, err
		}
		end := time.Now()
		latencies = append(latencies, end.Sub(now))
		now = end
	}
	return latencies, nil
}

// readAnswer reads an answer with status 200 and a length.
func readAnswer(in *bufio.Reader) error {
	length := -1
	for first := true; ; first = false {
		line, err := in.ReadSlice('\n')
		if err != nil {
			return err
		}
		if first {
			if !bytes.HasPrefix(line, []byte("HTTP/1.1 200 ")) {
				return fmt.Errorf("the answer is %q", line)
			}
			continue
		}
		if len(line) <= 2 {
			break
		}
		if text, ok := bytes.CutPrefix(line, []byte("Content-Length: ")); ok {
			if length, err = strconv.Atoi(string(bytes.TrimSpace(text))); err != nil {
				return err
			}
		}
	}
	if length < 0 {
		return errors.New("the answer has no Content-Length")
	}
	_, err := io.CopyN(io.Discard, in, int64(length))
	return err
}
