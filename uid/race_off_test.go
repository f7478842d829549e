//go:build !race

package uid

const raceEnabled = false
