package workerassign

// newPostgresDialect returns the dialect of PostgreSQL.
func newPostgresDialect(version string) (dialect, error) { return nil, errNoPostgres(version) }
