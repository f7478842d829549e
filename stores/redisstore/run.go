package redisstore

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	// defaultAcknowledgeTimeout is how long the server waits for the acknowledgements of replicas, if the client's ReadTimeout is
	// at least twice that.
	defaultAcknowledgeTimeout = time.Second

	// maxSends is how often a script that writes is sent: again only if the server has refused it without executing it.
	maxSends = 6
)

// errUnacknowledged is the error for a write that too few replicas have acknowledged.
var errUnacknowledged = errors.New("the write may be lost")

// run calls f, which runs a script. It returns when ctx ends: go-redis does not end a command whose reply it waits for. The
// goroutine of the command then ends after the client's timeouts.
func (s *Store) run(ctx context.Context, f func() *redis.Cmd) *redis.Cmd {
	if s.err != nil {
		return failed(ctx, s.err)
	}
	if err := ctx.Err(); err != nil {
		return failed(ctx, err)
	}
	done := make(chan *redis.Cmd, 1)
	go func() { done <- f() }()
	select {
	case cmd := <-done:
		return cmd
	case <-ctx.Done():
		return failed(ctx, ctx.Err())
	}
}

func failed(ctx context.Context, err error) *redis.Cmd {
	cmd := redis.NewCmd(ctx)
	cmd.SetErr(err)
	return cmd
}

// runWrite runs a script that begins with primary.lua. It executes it once: after a lost connection it is not known whether
// the server has done so. The result is an error unless enough replicas have acknowledged what the script has written.
func (s *Store) runWrite(ctx context.Context, script *redis.Script, keys []string, args []any) *redis.Cmd {
	return s.run(ctx, func() *redis.Cmd {
		cluster, isCluster := s.client.(*redis.ClusterClient)
		client, _ := s.client.(*redis.Client)
		if isCluster { // a pipeline of the cluster's client would send WAIT, which has no key, to any node
			var err error
			if client, err = cluster.MasterForKey(ctx, keys[0]); err != nil {
				return failed(ctx, err)
			}
		}
		send, asking := script.EvalSha, false
		for sends := 1; ; sends++ {
			replicas, declared := s.needed.Load(), ""
			if s.replicas >= 0 {
				replicas, declared = s.replicas, " declared"
			}
			cmd := s.acknowledged(ctx, client, asking, replicas, func(p redis.Pipeliner) *redis.Cmd {
				return send(ctx, p, keys, append([]any{strconv.FormatInt(replicas, 10) + declared}, args...)...)
			})
			kind, detail, _ := strings.Cut(serverText(cmd.Err()), " ")
			switch {
			case sends == maxSends:
				return cmd
			case kind == "NOSCRIPT":
				send = script.Eval
			case kind == "REPLICAS":
				n, err := strconv.ParseInt(detail, 10, 64)
				if err != nil {
					return cmd
				}
				s.needed.Store(n)
			case isCluster && (kind == "MOVED" || kind == "ASK"):
				cluster.ReloadState(ctx)
				options := *client.Options()
				options.Addr = redirected(detail, options.Addr)
				client, asking = redis.NewClient(&options), kind == "ASK"
				defer client.Close()
			default:
				if isCluster && kind == "READONLY" { // a failover that the client has not noticed
					cluster.ReloadState(ctx)
				}
				return cmd
			}
		}
	})
}

// redirected returns the address in what follows MOVED or ASK, such as "3999 127.0.0.1:6381". If it has no host, or ?, that is the one of
// from, the node that has sent it. An IPv6 address has no brackets there.
func redirected(detail, from string) string {
	_, address, _ := strings.Cut(detail, " ")
	colon := strings.LastIndexByte(address, ':')
	host := address[:max(colon, 0)]
	if host == "" || host == "?" {
		host, _, _ = net.SplitHostPort(from)
	}
	return net.JoinHostPort(host, address[colon+1:])
}

// acknowledged sends a script and WAIT in one pipeline, on one connection: WAIT counts the replicas that have acknowledged
// what its connection has written.
func (s *Store) acknowledged(ctx context.Context, client *redis.Client, asking bool, replicas int64, script func(redis.Pipeliner) *redis.Cmd) *redis.Cmd {
	timeout := s.acknowledgeTimeout
	if read := client.Options().ReadTimeout; read > 0 {
		timeout = max(min(timeout, read/2), time.Millisecond) // WAIT with 0 would wait forever
	}
	pipeline := client.Pipeline()
	if asking {
		pipeline.Do(ctx, "asking")
	}
	cmd := script(pipeline)
	wait := redis.NewIntCmd(ctx, "wait", replicas, timeout.Milliseconds())
	pipeline.Process(ctx, onceCmd{wait})
	_, err := pipeline.Exec(ctx)
	switch {
	case cmd.Err() != nil:
	case wait.Err() != nil:
		cmd.SetErr(fmt.Errorf("%w: WAIT: %w", errUnacknowledged, wait.Err()))
	case err != nil: // of the login; the commands do not have it
		cmd.SetErr(err)
	case wait.Val() < replicas:
		cmd.SetErr(fmt.Errorf("%w: %d replicas have acknowledged it within %v; must be at least %d", errUnacknowledged, wait.Val(), timeout, replicas))
	}
	return cmd
}

// onceCmd is a command whose pipeline is not sent again.
type onceCmd struct{ *redis.IntCmd }

// NoRetry implements redis.Cmder.
func (onceCmd) NoRetry() bool { return true }
