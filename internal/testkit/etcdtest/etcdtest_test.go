package etcdtest

import (
	"context"
	"testing"
	"time"
)

// A cluster of three starts; a server is killed and restarted, paused and continued, saved and restored.
func TestServer(t *testing.T) {
	servers := StartCluster(t, 3)
	s := servers[0]
	s.Kill()
	if err := servers[1].Wait(); err != nil { // until there is a leader again
		t.Errorf("two of three: %v", err)
	}
	s.Restart()

	alone := Start(t)
	alone.Pause()
	ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
	defer cancel()
	if err := alone.ping(ctx); err == nil {
		t.Error("a paused server answers")
	}
	alone.Resume()
	alone.Restore(alone.Snapshot(), "another")
	if err := alone.ping(context.Background()); err != nil {
		t.Error(err)
	}
}
