package slotrecord

import "sync"

// recentSize is the number of values that a generation of Recent holds.
const recentSize = 4096

// Recent keeps what was read last by a key: at least the last 4,096 values, and at most twice as many. The
// zero value is ready for use. It is safe for concurrent use.
type Recent[K comparable, V any] struct {
	mu         sync.Mutex
	young, old map[K]V
}

// Put keeps the value of a key.
func (r *Recent[K, V]) Put(key K, value V) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.young == nil || len(r.young) >= recentSize {
		r.young, r.old = make(map[K]V), r.young
	}
	r.young[key] = value
}

// Get returns the value of a key, and whether it was kept.
func (r *Recent[K, V]) Get(key K) (V, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if v, ok := r.young[key]; ok {
		return v, true
	}
	v, ok := r.old[key]
	return v, ok
}
