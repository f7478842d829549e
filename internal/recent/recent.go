// Package recent keeps what was read last, for stores that need not read or decode it again.
package recent

import "sync"

// recentSize is the number of values that a generation of Values holds.
const recentSize = 4096

// Values keeps what was read last by a key: at least the last 4,096 values, and at most twice as many. The
// zero value is ready for use. It is safe for concurrent use.
type Values[K comparable, V any] struct {
	mu         sync.Mutex
	young, old map[K]V
}

// Put keeps the value of a key.
func (r *Values[K, V]) Put(key K, value V) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.young == nil || len(r.young) >= recentSize {
		r.young, r.old = make(map[K]V), r.young
	}
	r.young[key] = value
}

// Get returns the value of a key, and whether it was kept.
func (r *Values[K, V]) Get(key K) (V, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if v, ok := r.young[key]; ok {
		return v, true
	}
	v, ok := r.old[key]
	return v, ok
}
