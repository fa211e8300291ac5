package wire

import "strconv"

// Decimal reads a number in text in units of its last place, of so many: 1.25 with two is
// 125. What has more places is cut, and what is no such number, or does not fit, is refused.
func Decimal(v []byte, places int) (n int64, ok bool) {
	negative := len(v) > 0 && v[0] == '-'
	if negative {
		v = v[1:]
	}
	if len(v) == 0 || len(v) > 18 {
		return 0, false
	}
	point := false
	for _, c := range v {
		switch {
		case c == '.' && !point:
			point = true
			continue
		case c < '0' || c > '9' || n > (1<<63-1)/100:
			return 0, false
		case point && places == 0:
			continue
		case point:
			places--
		}
		n = 10*n + int64(c-'0')
	}
	for ; places > 0; places-- {
		if n > (1<<63-1)/10 {
			return 0, false
		}
		n *= 10
	}
	if negative {
		n = -n
	}
	return n, true
}

// AppendHundredths appends hundredths as a number with two decimal places.
func AppendHundredths(b []byte, n int64) []byte {
	if n < 0 {
		b = append(b, '-')
		n = -n
	}
	b = strconv.AppendInt(b, n/100, 10)
	return append(b, '.', byte('0'+n/10%10), byte('0'+n%10))
}
