package lockedfile

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"strconv"
	"time"
)

// The content of a file is lines of fields, which are separated by spaces. Texts are quoted. The last line has
// the checksum of all lines before it: an operator can read the file, and damage is noticed.

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// AppendChecksum appends the line with the checksum of all lines before it.
func AppendChecksum(lines []byte) []byte {
	return fmt.Appendf(lines, "crc32c=%08x\n", crc32.Checksum(lines, castagnoli))
}

// CutChecksum returns the lines before the checksum, and whether that is right.
func CutChecksum(data []byte) (lines []byte, ok bool) {
	at := bytes.LastIndexByte(bytes.TrimSuffix(data, []byte{'\n'}), '\n') + 1
	lines = data[:at]
	if string(data[at:]) != fmt.Sprintf("crc32c=%08x\n", crc32.Checksum(lines, castagnoli)) {
		return nil, false
	}
	return lines, at > 0
}

// ErrContent is the error for a content that an Encoder does not write.
var ErrContent = errors.New("its content is not what this package wrote")

// ErrCopy is the error for a file, or its lock file, that is not the one which its content names.
var ErrCopy = errors.New("it, or its lock file, is a copy, which may be older than the original")

// ErrMachine is the error for a file with another machine ID than that of MachineID.
var ErrMachine = errors.New("it was written on another machine, or by a process with another /etc/machine-id, as in a container: run all of them in the same one")

// An Encoder appends lines of fields to a text.
type Encoder struct{ Out []byte }

// Begin begins a line of a kind.
func (e *Encoder) Begin(kind string) { e.Out = append(append(e.Out, '\n'), kind...) }

// Numbers appends numbers.
func (e *Encoder) Numbers(values ...int64) {
	for _, v := range values {
		e.Out = strconv.AppendInt(append(e.Out, ' '), v, 10)
	}
}

// Times appends times, as milliseconds.
func (e *Encoder) Times(values ...time.Time) {
	for _, v := range values {
		e.Numbers(v.UnixMilli())
	}
}

// Texts appends quoted texts.
func (e *Encoder) Texts(values ...string) {
	for _, v := range values {
		if e.Out = append(e.Out, ' '); plainLength(v) == len(v) { // the usual case, which is faster
			e.Out = append(append(append(e.Out, '"'), v...), '"')
			continue
		}
		e.Out = strconv.AppendQuote(e.Out, v)
	}
}

// plainLength returns how many bytes at the beginning of s are the same when they are quoted.
func plainLength(s string) int {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			return i
		}
	}
	return len(s)
}

// A Decoder reads the fields of a text. After the first error all fields are zero.
type Decoder struct {
	Rest   string // what has not been read yet
	Failed bool
}

// HasPrefix reports whether the rest begins with s.
func (d *Decoder) HasPrefix(s string) bool { return len(d.Rest) >= len(s) && d.Rest[:len(s)] == s }

// Prefix reads s.
func (d *Decoder) Prefix(s string) {
	if !d.HasPrefix(s) {
		d.Failed = true
		return
	}
	d.Rest = d.Rest[len(s):]
}

// Number reads a number, as Encoder.Numbers writes it.
func (d *Decoder) Number() int64 {
	d.Prefix(" ")
	end := 0
	for end < len(d.Rest) && d.Rest[end] != ' ' && d.Rest[end] != '\n' {
		end++
	}
	n, err := strconv.ParseInt(d.Rest[:end], 10, 64)
	if err != nil || d.Failed {
		d.Failed = true
		return 0
	}
	d.Rest = d.Rest[end:]
	return n
}

// Time reads a time, as Encoder.Times writes it.
func (d *Decoder) Time() time.Time { return time.UnixMilli(d.Number()).UTC() }

// Text reads a quoted text.
func (d *Decoder) Text() string {
	d.Prefix(" ")
	if !d.Failed && d.HasPrefix(`"`) {
		if n := plainLength(d.Rest[1:]) + 1; n < len(d.Rest) && d.Rest[n] == '"' {
			text := d.Rest[1:n]
			d.Rest = d.Rest[n+1:]
			return text
		}
	}
	quoted, err := strconv.QuotedPrefix(d.Rest)
	if err != nil || d.Failed {
		d.Failed = true
		return ""
	}
	text, err := strconv.Unquote(quoted)
	d.Failed = err != nil
	d.Rest = d.Rest[len(quoted):]
	return text
}
