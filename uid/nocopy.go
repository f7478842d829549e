package uid

// noCopy, as a field, lets `go vet` find copies of a struct: it takes whatever has these methods
// for a lock.
type noCopy struct{}

func (*noCopy) Lock()   {}
func (*noCopy) Unlock() {}
