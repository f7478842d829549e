package redis

// IgnoreHistory turns rule R7 off: the store reports the same history after a restart or a failover, and Write
// does not compare it.
func IgnoreHistory() Option { return option(func(s *Store) { s.ignoreHistory = true }) }
