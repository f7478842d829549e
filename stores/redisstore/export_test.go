package redisstore

import "time"

// WithAcknowledgeTimeout sets how long the server waits for the acknowledgements of replicas, if the client's ReadTimeout is at least twice
// that.
func WithAcknowledgeTimeout(d time.Duration) Option {
	return option(func(s *Store) { s.acknowledgeTimeout = d })
}

// scriptError is an error that a server has returned.
type scriptError string

func (e scriptError) Error() string { return string(e) }

func (scriptError) RedisError() {}

// ErrorOf returns the error of Write if the server returns the given text.
func ErrorOf(s *Store, text string) error { return s.error("write", scriptError(text)) }

// Redirected returns the address to which MOVED or ASK leads.
var Redirected = redirected
