package workerassign

import (
	"errors"
	"fmt"
	"hash/crc32"
)

// errCounter is what parseCounter says of anything but what formatCounter makes.
var errCounterText = errors.New("its content is not what was written")

// The headers of files that hold a number: what the number is.
const (
	workerHeader    = "ringuid-worker v1"    // the last worker ID that was assigned
	highWaterHeader = "ringuid-highwater v1" // the greatest worker ID that a host was granted
)

// formatCounter returns what a worker file holds.
func formatCounter(n int64) string { return formatNumber(workerHeader, n) }

// parseCounter is the inverse of formatCounter, and takes nothing else.
func parseCounter(text []byte) (int64, error) { return parseNumber(workerHeader, text) }

// formatNumber returns what a file of a header holds: a line that people can read, with a check
// sum by which a damaged one is known.
func formatNumber(header string, n int64) string {
	text := fmt.Sprintf("%s %d", header, n)
	return fmt.Sprintf("%s crc32c=%08x\n", text, crc32.Checksum([]byte(text), crc32.MakeTable(crc32.Castagnoli)))
}

// parseNumber is the inverse of formatNumber, and takes nothing else.
func parseNumber(header string, text []byte) (int64, error) {
	var (
		n   int64
		sum uint32
	)
	if _, err := fmt.Sscanf(string(text), header+" %d crc32c=%x\n", &n, &sum); err != nil || n < 1 || formatNumber(header, n) != string(text) {
		return 0, errCounterText
	}
	return n, nil
}
