package workerassign

import (
	"fmt"
	"hash/crc32"

	"github.com/ringuid/ringuid/internal/lockedfile"
	"github.com/ringuid/ringuid/internal/workerfile"
)

// formatCounter returns the content of a worker file: one readable line with the number and a checksum.
func formatCounter(n int64) string {
	text := fmt.Sprintf("%s %d", workerfile.CounterHeader, n)
	return fmt.Sprintf("%s crc32c=%08x\n", text, crc32.Checksum([]byte(text), crc32.MakeTable(crc32.Castagnoli)))
}

// parseCounter returns the number in the content of a worker file. It accepts only texts that formatCounter returns.
func parseCounter(text []byte) (int64, error) {
	var (
		n   int64
		sum uint32
	)
	if _, err := fmt.Sscanf(string(text), workerfile.CounterHeader+" %d crc32c=%x\n", &n, &sum); err != nil || n < 1 || formatCounter(n) != string(text) {
		return 0, lockedfile.ErrContent
	}
	return n, nil
}
