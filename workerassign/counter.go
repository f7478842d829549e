package workerassign

import (
	"errors"
	"fmt"
	"hash/crc32"
)

// errCounter is what parseCounter says of anything but what formatCounter makes.
var errCounter = errors.New("its content is not what was written")

// formatCounter returns what a worker file holds: a line that people can read, with a check
// sum by which a damaged one is known.
func formatCounter(n int64) string {
	text := fmt.Sprintf("ringuid-worker v1 %d", n)
	return fmt.Sprintf("%s crc32c=%08x\n", text, crc32.Checksum([]byte(text), crc32.MakeTable(crc32.Castagnoli)))
}

// parseCounter is the inverse of formatCounter, and takes nothing else.
func parseCounter(text []byte) (int64, error) {
	var (
		n   int64
		sum uint32
	)
	if _, err := fmt.Sscanf(string(text), "ringuid-worker v1 %d crc32c=%x\n", &n, &sum); err != nil || n < 1 || formatCounter(n) != string(text) {
		return 0, errCounter
	}
	return n, nil
}
