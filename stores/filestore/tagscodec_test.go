package filestore

import (
	"bytes"
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/ringuid/ringuid/internal/lockedfile"
	"github.com/ringuid/ringuid/segment"
)

// fileExample returns a content with unusual values.
func fileExample() *tagContent {
	c := &tagContent{id: "1f.2", lockID: "2a.3", machine: "m \"1\"", copied: math.MaxInt64, copyGap: 5, index: map[string]int{}}
	for _, t := range []fileTag{
		{"orders", 1, 1, ""}, {"Orders", 0, segment.MaxStep, "orders of\u00a0" + strings.Repeat("é", 200)}, {"a \"b\" \\ c", math.MaxInt64, 7, `"\`},
		{strings.Repeat("日", 42), 5, 5, "日"}, {"tag", 1 << 53, 10, "tag \"x\" 1 2"}, {"\u202e", segment.MaxNumber, 1, "\ufeff"},
	} {
		if err := c.add(t); err != nil {
			panic(err)
		}
	}
	return c
}

// A file is read as it was written.
func TestFileCodec(t *testing.T) {
	for _, want := range []*tagContent{fileExample(), {tags: []fileTag{}, index: map[string]int{}}} {
		got, err := decodeFile(want.encode())
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("decoded %+v, %v; want %+v", got, err, want)
		}
	}
	const want = "ringuid-segments v1 \"f\" \"l\" \"m\" 0 0\ntag \"orders\" 1001 1000 \"for people\"\ncrc32c=a4790088\n"
	c := &tagContent{id: "f", lockID: "l", machine: "m", tags: []fileTag{{"orders", 1001, 1000, "for people"}}}
	if got := string(c.encode()); got != want {
		t.Errorf("the format has changed:\n%s\nwant\n%s", got, want)
	}
}

// Each single change of a file is noticed, and each cut.
func TestFileCodecDamage(t *testing.T) {
	data := fileExample().encode()
	for n := range data {
		if _, err := decodeFile(data[:n]); !errors.Is(err, lockedfile.ErrContent) {
			t.Fatalf("the first %d bytes: %v", n, err)
		}
		for bit := range 8 {
			changed := bytes.Clone(data)
			changed[n] ^= 1 << bit
			if _, err := decodeFile(changed); !errors.Is(err, lockedfile.ErrContent) {
				t.Fatalf("bit %d of byte %d changed: %v", bit, n, err)
			}
		}
	}
	for _, lines := range []string{
		"", "\n", "ringuid-segments v2 \"\" \"\" \"\" 0 0\n", "ringuid-segments v1 \"\" \"\" \"\" 0 0", "ringuid-segments v1 \"\" \"\" \"\" -1 0\n", "ringuid-segments v1 \"\" \"\" 0 0\n",
		"tag \"a\" -1 1 \"\"\n", "tag \"a\" 1 0 \"\"\n", "tag \"a\" 1 1099511627777 \"\"\n", "tag \"a\" 9223372036854775808 1 \"\"\n", "tag \"\" 1 1 \"\"\n", "tag \" \" 1 1 \"\"\n",
		"tag \"a\" 1 1 \"\"\ntag \"a\" 2 1 \"\"\n", "tag \"a\" 1 1\n", "tag \"a\" 1 1 \"\" \n", "tag \"a\" 1 1 \"\"\n\n", "tag a 1 1 \"\"\n", "slot\n", "\n",
	} {
		if !strings.HasPrefix(lines, "ringuid") && lines != "" {
			lines = "ringuid-segments v1 \"\" \"\" \"\" 0 0\n" + lines
		}
		if c, err := decodeFile(lockedfile.AppendChecksum([]byte(lines))); err == nil {
			t.Errorf("%q is accepted as %+v", lines, c)
		}
	}
}

// FuzzFile: a content with the right checksum is read as a content that is written as one that is read as the same
// one, or refused.
func FuzzFile(f *testing.F) {
	lines, _ := lockedfile.CutChecksum(fileExample().encode())
	f.Add(lines)
	f.Add([]byte("ringuid-segments v1 \"f\" \"l\" \"m\" 0 0\ntag \"orders\" 1001 1000 \"for people\"\n"))
	f.Add([]byte("ringuid-segments v1 \"\" \"\" \"\" 0 0\n"))
	f.Fuzz(func(t *testing.T, lines []byte) {
		decodeFile(lines) // without a checksum
		c, err := decodeFile(lockedfile.AppendChecksum(bytes.Clone(lines)))
		if err != nil {
			return
		}
		for _, tag := range c.tags {
			if segment.CheckTag(tag.name) != nil || tag.next < 0 || tag.step < 1 || tag.step > segment.MaxStep {
				t.Errorf("the tag %+v is accepted", tag)
			}
		}
		again, err := decodeFile(c.encode())
		if err != nil || !reflect.DeepEqual(again, c) {
			t.Errorf("%+v is written and read as %+v, %v", c, again, err)
		}
	})
}

// The error for a damaged file names the line.
func TestFileCodecNamesLine(t *testing.T) {
	c := tagContent{id: "1", lockID: "2", tags: []fileTag{{name: "a", next: 1, step: 1}, {name: "b", next: 1, step: 1}, {name: "c", next: 1}}}
	if _, err := decodeFile(c.encode()); err == nil || !strings.Contains(err.Error(), "(line 4)") {
		t.Errorf("decodeFile of a file with the step 0 in line 4 = %v", err)
	}
}
