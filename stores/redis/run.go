package redis

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"
)

// run runs a script. It returns when ctx ends: go-redis does not end a command whose reply it waits for. The
// goroutine of the command then ends after the client's timeouts.
func (s *Store) run(ctx context.Context, c redis.Scripter, script *redis.Script, keys []string, args []any) *redis.Cmd {
	failed := redis.NewCmd(ctx)
	if s.err != nil {
		failed.SetErr(s.err)
		return failed
	}
	if err := ctx.Err(); err != nil {
		failed.SetErr(err)
		return failed
	}
	done := make(chan *redis.Cmd, 1)
	go func() {
		defer func() {
			if p := recover(); p != nil { // of a hook of the client
				panicked := redis.NewCmd(ctx)
				panicked.SetErr(fmt.Errorf("the client panicked: %v", p))
				done <- panicked
			}
		}()
		done <- script.Run(ctx, c, keys, args...)
	}()
	select {
	case cmd := <-done:
		return cmd
	case <-ctx.Done():
		failed.SetErr(ctx.Err())
		return failed
	}
}

// once runs scripts without sending a command again after a lost connection, when it is not known whether the
// server has executed it. It follows redirections of a cluster.
type once struct{ redis.UniversalClient }

// Eval implements redis.Scripter.
func (c once) Eval(ctx context.Context, script string, keys []string, args ...any) *redis.Cmd {
	return c.process(ctx, "eval", script, keys, args)
}

// EvalSha implements redis.Scripter.
func (c once) EvalSha(ctx context.Context, sha1 string, keys []string, args ...any) *redis.Cmd {
	return c.process(ctx, "evalsha", sha1, keys, args)
}

func (c once) process(ctx context.Context, command, script string, keys []string, args []any) *redis.Cmd {
	all := []any{command, script, len(keys)}
	for _, key := range keys {
		all = append(all, key)
	}
	cmd := redis.NewCmd(ctx, append(all, args...)...)
	cmd.SetFirstKeyPos(3)
	c.Process(ctx, onceCmd{cmd}) // the error is in cmd
	return cmd
}

// onceCmd is a command that is not sent again.
type onceCmd struct{ *redis.Cmd }

// NoRetry implements redis.Cmder.
func (onceCmd) NoRetry() bool { return true }
