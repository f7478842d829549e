package server

import "strconv"

// twoDigits has the numbers 00 to 99.
const twoDigits = "00010203040506070809" + "10111213141516171819" + "20212223242526272829" + "30313233343536373839" + "40414243444546474849" +
	"50515253545556575859" + "60616263646566676869" + "70717273747576777879" + "80818283848586878889" + "90919293949596979899"

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

// appendList appends the numbers of list, separated by commas. UIDs of a batch are consecutive most of the time, and
// so only their last four digits differ: they are written into a copy of the others.
func appendList[N ~int64](b []byte, list []N, asNumber bool) []byte {
	for begin := 0; begin < len(list); {
		if begin > 0 {
			b = append(b, ',')
		}
		end := begin + 1
		first := int64(list[begin])
		for low := first % 10_000; end < len(list) && list[end] == list[end-1]+1 && low+int64(end-begin) < 10_000; {
			end++
		}
		if end-begin == 1 || first < 10_000 {
			b = appendNumber(b, first, asNumber)
			begin++
			continue
		}
		b = appendRun(b, first, end-begin, asNumber)
		begin = end
	}
	return b
}

// appendRun appends the numbers first, first+1 and so on, n in all. They are at least 10,000, and differ only in their
// last four digits.
func appendRun(b []byte, first int64, n int, asNumber bool) []byte {
	var template [elementSize]byte
	element := append(appendNumber(template[:0], first, asNumber), ',')
	size := len(element)
	digits := size - len("0000,")
	if !asNumber {
		digits--
	}
	at := len(b)
	b = grow(b, n*size+elementSize)
	b = b[:cap(b)]
	for low := int(first % 10_000); n > 0; n-- {
		*(*[elementSize]byte)(b[at:]) = template // longer than the element: the next one replaces the rest
		high, rest := low/100*2, low%100*2
		d := b[at+digits : at+digits+4]
		d[0], d[1], d[2], d[3] = twoDigits[high], twoDigits[high+1], twoDigits[rest], twoDigits[rest+1]
		at += size
		low++
	}
	return b[:at-len(",")]
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
