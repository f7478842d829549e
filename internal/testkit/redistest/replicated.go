package redistest

// Replicated is a primary with two replicas: a write of a store counts if one of them has it.
type Replicated struct {
	*Server  // the primary
	replicas [2]*Server
}

// Replicate starts two replicas of s. All have one clock, which can be set.
func (s *Server) Replicate() *Replicated {
	s.tb.Helper()
	s.UseClock()
	return &Replicated{s, [2]*Server{s.replicaWithClock(), s.replicaWithClock()}}
}

// replicaWithClock is Replica, with the clock of s.
func (s *Server) replicaWithClock() *Server {
	s.tb.Helper()
	r := Start(s.tb, s.flags...)
	r.UseClockOf(s.Process)
	r.Follow(s.Address())
	r.WaitSynced(s)
	return r
}

// Restart starts the primary again. The replication ID changes when the first replica is back.
func (r *Replicated) Restart() {
	r.tb.Helper()
	r.Server.Restart()
	for _, replica := range r.replicas {
		replica.WaitSynced(r.Server)
	}
}

// LoseWrites calls write. What it writes counts, because one replica has it, but the other one is promoted.
func (r *Replicated) LoseWrites(write func()) {
	r.tb.Helper()
	former, promoted, has := r.Server, r.replicas[0], r.replicas[1]
	promoted.WaitSynced(former)
	has.WaitSynced(former)
	promoted.Disconnect()
	write()
	former.Kill()
	promoted.Promote()
	has.Follow(promoted.Address())
	r.Server, r.replicas = promoted, [2]*Server{has, promoted.replicaWithClock()}
	has.WaitSynced(promoted)
}
