// Package proof checks models of the ring (ring.pml), of the leases (leases.pml), of how hosts get slots (slots.pml) and of
// Saved (saved.pml) with the model checker Spin, in all interleavings. doc/internals/proof.md says what is proved and for which sizes. `make proof` and `make proof-full` run it.
package proof
