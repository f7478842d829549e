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

// appendAnswer appends the answer with a list. The error is errNotPositive if a number is not positive.
func appendAnswer[N ~int64](b []byte, list []N, asNumber bool) ([]byte, error) {
	b, ok := appendList(append(b, `{"ids":[`...), list, asNumber)
	if !ok {
		return nil, errNotPositive
	}
	return append(b, "]}\n"...), nil
}

// appendList appends the numbers of a list that is not empty, separated by commas. ok is false if one of them is not
// positive. UIDs of a batch are consecutive most of the time, which appendRun uses.
func appendList[N ~int64](b []byte, list []N, asNumber bool) (_ []byte, ok bool) {
	b = grow(b, (len(list)+1)*elementSize)
	for begin := 0; begin < len(list); {
		end := begin + 1
		for end < len(list) && list[end] == list[end-1]+1 {
			end++
		}
		if list[begin] <= 0 || list[end-1] <= 0 { // the last one, because the greatest number plus 1 is negative
			return nil, false
		}
		b = appendRun(b, int64(list[begin]), end-begin, asNumber)
		begin = end
	}
	return b[:len(b)-len(",")], true
}

// appendRun appends the numbers first, first+1 and so on, n in all, each with a comma. Of a hundred numbers only the last two
// digits differ, so each is a copy of the first one with other digits. b must have space for n+1 elements.
func appendRun(b []byte, first int64, n int, asNumber bool) []byte {
	for n > 0 {
		var template [elementSize]byte
		element := append(appendNumber(template[:0], first, asNumber), ',')
		if first < 100 {
			b = append(b, element...)
			first++
			n--
			continue
		}
		units := len(element) - len("0,")
		if !asNumber {
			units -= len(`"`)
		}
		begin := int(first % 100)
		end := min(begin+n, 100)
		at := len(b)
		b = b[:at+(end-begin)*len(element)+elementSize] // the copies are longer than the elements
		for i := begin; i < end; {
			template[units-1] = byte('0' + i/10)
			unit := byte('0' + i%10)
			for stop := min(i-i%10+10, end); i < stop; i++ {
				*(*[elementSize]byte)(b[at:]) = template
				b[at+units] = unit
				unit++
				at += len(element)
			}
		}
		b = b[:at]
		first += int64(end - begin)
		n -= end - begin
	}
	return b
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
