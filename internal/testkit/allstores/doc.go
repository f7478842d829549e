// Package allstores tests all kinds of stores together, on real servers: whether they are linearizable, and, by `make soak`, how fleets
// live on them with random faults. It is a module, because it requires the stores' modules.
package allstores
