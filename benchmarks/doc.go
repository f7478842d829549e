// Package benchmarks compares ringuid's modes with each other and with the limit, one atomic
// add. It is a module of its own, so that what it needs is not downloaded by those who
// import ringuid. Run it by
//
//	go test -bench . -count 10 | tee new.txt
//
// and read the medians with benchstat.
package benchmarks
