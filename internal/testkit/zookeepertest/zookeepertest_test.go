package zookeepertest

import (
	"context"
	"testing"
	"time"
)

// A server starts, is killed and restarted, paused and continued.
func TestServer(t *testing.T) {
	s := Start(t)
	s.Kill()
	begin := time.Now()
	s.Restart()
	t.Logf("restarted in %v", time.Since(begin))
	s.Pause()
	ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
	defer cancel()
	if err := s.ping(ctx); err == nil {
		t.Error("a paused server answers")
	}
	s.Resume()
	if err := s.ping(context.Background()); err != nil {
		t.Error(err)
	}
}
