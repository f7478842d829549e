// Package proof checks models of the ring (ring.pml) and of the leases (leases.pml) with the model checker Spin, in all
// interleavings. doc/proof.md says what is proved and for which sizes. `make proof` and `make proof-full` run it.
package proof
