package server

import "strconv"

// elementSize is the space that an element of a list needs while it is written: the longest number has 19 digits.
const elementSize = 24

// appendNumber appends a number that is not negative, as a JSON string or number.
func appendNumber(b []byte, v int64, asNumber bool) []byte {
	if asNumber {
		return strconv.AppendInt(b, v, 10)
	}
	b = append(b, '"')
	b = strconv.AppendInt(b, v, 10)
	return append(b, '"')
}

// appendRun appends the numbers of a run, each with a comma. b must have space for one element more. The first hundred are written one by one, and most of the others are copies of the elements a hundred before them.
func appendRun(b []byte, r run, asNumber bool) []byte {
	n := int(r.n)
	size := 0 // of the last element
	for written := 0; written < n; {
		v := r.first + int64(written)
		count := min(n-written, 100-int(v%100)) // these differ in the last two digits only
		if written < 100 {
			count = min(count, 100-written)
		}
		begin := len(b)
		if written >= 100 && sameBeginning(v-100, v) {
			b = appendCopies(b, size, count, asNumber)
		} else {
			b = appendHundred(b, v, count, asNumber)
		}
		size = (len(b) - begin) / count
		written += count
	}
	return b
}

// sameBeginning reports whether two numbers, of which v is the less one, have at least 10 digits and differ in the last 10 only.
func sameBeginning(v, w int64) bool { return v >= 1e9 && v/1e10 == w/1e10 }

// tensOf returns where the tens digit of an element of some size is, which has a comma.
func tensOf(size int, asNumber bool) int {
	tens := size - len("00,")
	if !asNumber {
		tens -= len(`"`)
	}
	return tens
}

// appendCopies appends n elements of some size, whose numbers differ in the last two digits only. The numbers of the hundred elements
// before them are less by 100. They differ from the new ones in no more than the 8 digits before the last two, which are the same in
// all new elements.
func appendCopies(b []byte, size, n int, asNumber bool) []byte {
	begin := len(b) - 100*size
	at := begin + tensOf(size, asNumber) - 8
	digits := [8]byte(b[at:])
	for i := 7; i >= 0; i-- { // adds 1
		if digits[i] < '9' {
			digits[i]++
			break
		}
		digits[i] = '0'
	}
	b = append(b, b[begin:begin+n*size]...)
	for at += 100 * size; at < len(b); at += size {
		*(*[8]byte)(b[at:]) = digits
	}
	return b
}

// appendHundred appends n numbers from v on, which differ in the last two digits only: so each is a copy of the first one with other
// digits. b must have space for n+1 elements.
func appendHundred(b []byte, v int64, n int, asNumber bool) []byte {
	var template [elementSize]byte
	if v < 100 {
		for i := range n {
			b = append(append(b, appendNumber(template[:0], v+int64(i), asNumber)...), ',')
		}
		return b
	}
	element := append(appendNumber(template[:0], v, asNumber), ',')
	tens := tensOf(len(element), asNumber)
	at := len(b)
	b = b[:at+n*len(element)+elementSize] // the copies are longer than the elements
	for i, end := int(v%100), int(v%100)+n; i < end; {
		template[tens] = byte('0' + i/10)
		unit := byte('0' + i%10)
		for stop := min(i-i%10+10, end); i < stop; i++ {
			*(*[elementSize]byte)(b[at:]) = template
			b[at+tens+1] = unit
			unit++
			at += len(element)
		}
	}
	return b[:at]
}

// grow returns b with space for n bytes more.
func grow(b []byte, n int) []byte {
	if cap(b)-len(b) >= n {
		return b
	}
	larger := make([]byte, len(b), 2*cap(b)+n)
	copy(larger, b)
	return larger
}
