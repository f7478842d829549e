package workerassign

import (
	"errors"
	"fmt"
	"hash/crc32"
)

// errCounterText is the error of parseNumber for a text that formatNumber does not return.
var errCounterText = errors.New("its content is not what this package wrote")

// The headers of files that hold a number. They say what the number is.
const (
	workerHeader    = "ringuid-worker v1"    // the last worker ID that was assigned
	highWaterHeader = "ringuid-highwater v1" // the greatest worker ID that was assigned to the host
)

// formatCounter returns the content of a worker file.
func formatCounter(n int64) string { return formatNumber(workerHeader, n) }

// parseCounter returns the number in the content of a worker file. It accepts only texts that
// formatCounter returns.
func parseCounter(text []byte) (int64, error) { return parseNumber(workerHeader, text) }

// formatNumber returns the content of a file with a header: one readable line with the number and a
// checksum.
func formatNumber(header string, n int64) string {
	text := fmt.Sprintf("%s %d", header, n)
	return fmt.Sprintf("%s crc32c=%08x\n", text, crc32.Checksum([]byte(text), crc32.MakeTable(crc32.Castagnoli)))
}

// parseNumber returns the number in the content of a file with a header. It accepts only texts that
// formatNumber returns.
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
