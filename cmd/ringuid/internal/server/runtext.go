package server

import "encoding/binary"

// A runText is the text of a list of consecutive numbers, which is kept from one answer to the next. It has hundreds of
// elements, whose last two digits are 00 to 99. An answer is a part of it, for which only the digits before the last two must be
// written.
type runText struct {
	text     []byte  // the hundreds, with space before and after them
	hundreds []int64 // the numbers in each hundred, without their last two digits
	asNumber bool
	size     int // the bytes of an element, with its comma

	// What the beginning and the end of the last answer have replaced.
	begin, end int // where that answer begins and ends; 0 if there is none
	replaced   [len(listBegin) + len(listEnd)]byte
}

const (
	minRunText = 200  // Fewer numbers are written faster without a runText.
	minElement = 1e10 // Lesser numbers have fewer than 9 digits before the last two. The digits are written 8 at a time.
	maxElement = 9e18 // Greater ones may have hundreds that do not fit in an int64.
)

// list returns the answer with the numbers of a run. It is valid until the next call. ok is false if the run is not suitable.
func (t *runText) list(r run, asNumber bool) (answer []byte, ok bool) {
	if r.n < minRunText || r.first < minElement || r.first > maxElement-r.n {
		return nil, false
	}
	end := r.first + r.n
	first, count := r.first/100, int((end+99)/100-r.first/100) // the hundreds
	var text [elementSize]byte
	size := len(appendNumber(text[:0], end+99, asNumber)) + len(",")
	element := append(appendNumber(text[:0], first*100, asNumber), ',')
	if len(element) != size {
		return nil, false // the number of digits changes
	}
	t.restore()
	if t.size != size || t.asNumber != asNumber {
		t.size, t.asNumber, t.hundreds = size, asNumber, t.hundreds[:0]
	}
	tens := tensOf(element, asNumber)
	for i := range min(count, len(t.hundreds)) {
		t.write(i, first+int64(i), &text, tens)
		for at := tens - 1; ; at-- { // the next hundred
			if text[at]++; text[at] <= '9' {
				break
			}
			text[at] = '0'
		}
	}
	t.extend(first, count)
	from := len(listBegin) + int(r.first%100)*size
	return t.cut(from, from+int(r.n)*size), true
}

// write makes a hundred show other numbers. text is their element, and tens is where its tens digit is.
func (t *runText) write(i int, hundred int64, text *[elementSize]byte, tens int) {
	before := t.hundreds[i]
	if before == hundred {
		return
	}
	t.hundreds[i] = hundred
	size := t.size // a variable, which the compiler keeps in a register
	begin := len(listBegin) + i*100*size
	elements := t.text[begin : begin+100*size]
	last := binary.LittleEndian.Uint64(text[tens-8:]) // the 8 digits before the last two
	if before/1e8 == hundred/1e8 {
		for at := tens - 8; at <= len(elements)-8; at += size {
			binary.LittleEndian.PutUint64(elements[at:], last)
		}
		return
	}
	// Three groups of 8 bytes, which overlap, are all bytes before the last two digits.
	middleAt := min(8, tens-8)
	first, middle := binary.LittleEndian.Uint64(text[:]), binary.LittleEndian.Uint64(text[middleAt:])
	for ; len(elements) >= size; elements = elements[size:] {
		binary.LittleEndian.PutUint64(elements, first)
		binary.LittleEndian.PutUint64(elements[middleAt:], middle)
		binary.LittleEndian.PutUint64(elements[tens-8:], last)
	}
}

// extend adds hundreds until there are count.
func (t *runText) extend(first int64, count int) {
	space := len(listBegin) + count*100*t.size + elementSize // appendRun and the end of the list need some space
	if len(t.text) < space {
		t.text, t.hundreds = make([]byte, space+space/4), t.hundreds[:0]
	}
	if have := len(t.hundreds); have < count {
		appendRun(t.text[:len(listBegin)+have*100*t.size], run{(first + int64(have)) * 100, int64(count-have) * 100}, t.asNumber)
		for i := have; i < count; i++ {
			t.hundreds = append(t.hundreds, first+int64(i))
		}
	}
}

// cut returns the elements of a part of the text as an answer: what is before and after them is replaced.
func (t *runText) cut(from, to int) []byte {
	t.begin, t.end = from-len(listBegin), to-len(",")+len(listEnd)
	copy(t.replaced[copy(t.replaced[:], t.text[t.begin:from]):], t.text[to-len(","):t.end])
	copy(t.text[t.begin:], listBegin)
	copy(t.text[to-len(","):], listEnd)
	return t.text[t.begin:t.end]
}

// restore undoes what cut did.
func (t *runText) restore() {
	if t.end == 0 {
		return
	}
	copy(t.text[t.begin:], t.replaced[:len(listBegin)])
	copy(t.text[t.end-len(listEnd):], t.replaced[len(listBegin):])
	t.begin, t.end = 0, 0
}
