// Command benchserver measures the HTTP server of "ringuid serve" next to the same net/http server that returns a constant of the
// same length: requests per second and latencies, of one UID and of 1,000 UIDs per request.
//
//	go run ./internal/benchserver                  # in the module cmd/ringuid; or make bench-server
//	go run ./internal/benchserver -memory 10m      # the memory of the server under load
//
// The two servers are processes of their own, and are measured in turn, in rounds, so that what else the machine does
// affects both. The load comes from this process: connections that are kept open, each of which sends a request when it has
// read the answer. It reads answers with as few steps as possible, so that the measurement has as much of the servers, and as
// little of a client, as possible.
package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"
)

func main() {
	role := flag.String("serve", "", "serve as ringuid or constant (the program starts itself with it)")
	rounds := flag.Int("rounds", 150, "rounds of measurements")
	each := flag.Duration("each", 200*time.Millisecond, "time of each measurement")
	connections := flag.Int("connections", 16, "connections that send requests")
	memory := flag.Duration("memory", 0, "measure the memory of the server for this time instead")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var err error
	switch {
	case *role != "":
		err = serve(ctx, *role)
	case *memory > 0:
		err = measureMemory(ctx, *memory, *connections)
	default:
		err = measure(ctx, *rounds, *each, *connections)
	}
	if err != nil {
		log.Fatal("benchserver: ", err)
	}
}

// A kind is a server and a request.
type kind struct{ role, path string }

// measure compares the servers, and returns an error if a ratio is greater than its limit.
func measure(ctx context.Context, rounds int, each time.Duration, connections int) error {
	servers := map[string]*child{}
	for _, role := range []string{"constant", "ringuid"} {
		c, err := startChild(ctx, role)
		if err != nil {
			return err
		}
		defer c.stop()
		servers[role] = c
	}
	paths := []string{"/v1/uid", "/v1/uid?n=1000"}
	limits := map[string]float64{"/v1/uid": 1.1, "/v1/uid?n=1000": 1.2}
	results := map[kind][]result{}
	for round := range rounds + 1 {
		for _, path := range paths {
			roles := []string{"constant", "ringuid"}
			if round%2 == 1 {
				slices.Reverse(roles)
			}
			for _, role := range roles {
				before, err := processorTime(servers[role].cmd.Process.Pid)
				if err != nil {
					return err
				}
				r, err := load(ctx, servers[role].addr, path, connections, each)
				if err != nil {
					return fmt.Errorf("%s %s: %w", role, path, err)
				}
				after, err := processorTime(servers[role].cmd.Process.Pid)
				if err != nil {
					return err
				}
				r.processor = after - before
				if round > 0 { // the first one is to warm up
					results[kind{role, path}] = append(results[kind{role, path}], r)
				}
			}
		}
	}
	fmt.Printf("%d rounds of %v, %d connections, GOMAXPROCS=%d, %s %s/%s\n\n", rounds, each, connections, runtime.GOMAXPROCS(0), runtime.Version(), runtime.GOOS, runtime.GOARCH)
	fmt.Println("| request | constant, per second | ringuid, per second | constant, p99 | ringuid, p99 | ratio (1st quartile, median, 3rd quartile) | CPU time of the servers, per request | ratio |")
	fmt.Println("|---|---|---|---|---|---|---|---|")
	var over []string
	for _, path := range paths {
		constant, ringuid := results[kind{"constant", path}], results[kind{"ringuid", path}]
		ratios := make([]float64, rounds)
		for i := range ratios {
			ratios[i] = constant[i].rate() / ringuid[i].rate()
		}
		slices.Sort(ratios)
		median := ratios[rounds/2]
		one, other := processorPerRequest(constant), processorPerRequest(ringuid)
		fmt.Printf("| `%s` | %.0f | %.0f | %v | %v | %.3f, %.3f, %.3f | %.1f µs, %.1f µs | %.3f |\n", path, medianOf(constant, result.rate), medianOf(ringuid, result.rate),
			time.Duration(medianOf(constant, result.p99)).Round(time.Microsecond), time.Duration(medianOf(ringuid, result.p99)).Round(time.Microsecond),
			ratios[rounds/4], median, ratios[rounds*3/4], one, other, other/one)
		if median > limits[path] {
			over = append(over, fmt.Sprintf("%s: the ratio is %.3f; must be at most %.2f", path, median, limits[path]))
		}
	}
	if over != nil {
		return errors.New(strings.Join(over, "; "))
	}
	return nil
}

// medianOf returns the median of a figure of results.
func medianOf(results []result, figure func(result) float64) float64 {
	var all []float64
	for _, r := range results {
		all = append(all, figure(r))
	}
	slices.Sort(all)
	return all[len(all)/2]
}

// processorPerRequest returns the CPU time of the server for each request, in microseconds. Other programs of the machine
// change it less than the rate.
func processorPerRequest(results []result) float64 {
	var total time.Duration
	requests := 0
	for _, r := range results {
		total += r.processor
		requests += len(r.latencies)
	}
	return float64(total.Microseconds()) / float64(requests)
}

// A child is a server in a process of its own.
type child struct {
	cmd  *exec.Cmd
	addr string
}

// startChild starts this program as a server, and waits until it listens.
func startChild(ctx context.Context, role string) (*child, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	c := &child{cmd: exec.CommandContext(ctx, program, "-serve", role)}
	c.cmd.Stderr = os.Stderr
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := c.cmd.Start(); err != nil {
		return nil, err
	}
	c.addr, err = bufio.NewReader(out).ReadString('\n')
	if c.addr = strings.TrimSpace(c.addr); err != nil {
		return nil, errors.Join(fmt.Errorf("the server %s did not start: %w", role, err), c.cmd.Wait())
	}
	return c, nil
}

// stop ends the server.
func (c *child) stop() {
	if err := c.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		log.Print(err)
	}
	if err := c.cmd.Wait(); err != nil {
		log.Print(err)
	}
}
