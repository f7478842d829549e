package workerassign

import (
	"math"
	"strings"
	"testing"
)

// corruptTexts are contents of a worker file that parseCounter must refuse.
var corruptTexts = []string{
	"", "\n", "ringuid-worker v1", "ringuid-worker v1 5", "ringuid-worker v1 5 crc32c=00000000\n", "7", "7\n",
	strings.TrimSuffix(formatCounter(5), "\n"), formatCounter(5) + "\n", " " + formatCounter(5), formatCounter(5) + formatCounter(6),
	formatCounter(0), formatCounter(-1), formatCounter(math.MinInt64),
	strings.Replace(formatCounter(5), "5", "6", 1), strings.Replace(formatCounter(5), " 5", " 05", 1), strings.Replace(formatCounter(5), " 5", " +5", 1),
	strings.Replace(formatCounter(5), "v1", "v2", 1), strings.ToUpper(formatCounter(5)),
	"ringuid-worker v1 99999999999999999999 crc32c=00000000\n", strings.Repeat("\x00", 4096),
}

// parseCounter accepts only the texts that formatCounter returns.
func FuzzParseCounter(f *testing.F) {
	for _, text := range append(corruptTexts, formatCounter(1), formatCounter(math.MaxInt64)) {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		n, err := parseCounter([]byte(text))
		if err == nil && (n < 1 || formatCounter(n) != text) || err != nil && n != 0 {
			t.Errorf("parseCounter(%q) = %d, %v", text, n, err)
		}
	})
}
