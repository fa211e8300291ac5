// Package unit reads and writes the amounts of a snapshot with their units, exactly.
package unit

import (
	"errors"
	"fmt"
	"math/bits"
	"strconv"
	"strings"
)

// Kind is a kind of amount.
type Kind struct {
	what    string
	example string
	units   []unit // valid units; the first few are written, the largest first
	written int
}

// unit is a suffix of a number, as a multiple of the smallest unit.
type unit struct {
	name string
	size int64
}

// The kinds of amounts, each counted in its smallest unit.
var (
	Frequency = &Kind{"a speed", "2600MHz or 2.6GHz", []unit{{"MHz", 1}, {"GHz", 1000}, {"THz", 1e6}}, 1}
	Size      = &Kind{"a size", "512GiB", []unit{
		{"PiB", 1 << 50}, {"TiB", 1 << 40}, {"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}, {"B", 1},
		{"TB", 1e12}, {"GB", 1e9}, {"MB", 1e6}, {"kB", 1e3}, {"KB", 1e3},
	}, 6}
	Bandwidth = &Kind{"a bandwidth", "10Gbit/s", []unit{{"Tbit/s", 1e12}, {"Gbit/s", 1e9}, {"Mbit/s", 1e6}, {"kbit/s", 1e3}, {"bit/s", 1}}, 5}
	DirtyRate = &Kind{"a rate", "40MiB/s", []unit{{"GiB/s", 1 << 30}, {"MiB/s", 1 << 20}, {"KiB/s", 1 << 10}, {"B/s", 1}, {"GB/s", 1e9}, {"MB/s", 1e6}}, 4}
	Share     = &Kind{"a share", "2.5%", []unit{{"%", 10}}, 1} // per mille
	Time      = &Kind{"a time", "90m", []unit{{"d", 86_400}, {"h", 3600}, {"min", 60}, {"m", 60}, {"s", 1}}, 0}
)

// Most is the largest amount: 8 PiB. Every integer up to it is exact as a floating-point
// number.
const Most = 1 << 53

var errTooLarge = errors.New("is too large: at most 8 PiB, or as many MHz")

// split separates a number and its unit. Zero needs no unit.
func (q *Kind) split(text string) (number string, size int64, err error) {
	text = strings.TrimSpace(text)
	end := 0
	for end < len(text) && (text[end] >= '0' && text[end] <= '9' || text[end] == '.' || end == 0 && text[end] == '-') {
		end++
	}
	number, name := text[:end], strings.TrimSpace(text[end:])
	if strings.HasPrefix(number, "-") {
		return "", 0, errors.New("is below 0")
	}
	if strings.Trim(number, "0.") == "" && strings.Contains(number, "0") && name == "" {
		return "0", 1, nil
	}
	for _, u := range q.units {
		if u.name == name && strings.Count(number, ".") <= 1 && strings.Trim(number, ".") != "" {
			return number, u.size, nil
		}
	}
	if name == "" && number != "" {
		return "", 0, fmt.Errorf("has no unit: write %s, such as %s", q.what, q.example)
	}
	return "", 0, fmt.Errorf("is not %s, such as %s", q.what, q.example)
}

const mostFraction = 12 // digits after the point

// Parse reads an amount exactly, in the smallest unit.
func (q *Kind) Parse(text string) (int64, error) {
	number, size, err := q.split(text)
	if err != nil {
		return 0, err
	}
	ahead, behind, _ := strings.Cut(number, ".")
	whole := uint64(0)
	if ahead != "" {
		if whole, err = strconv.ParseUint(ahead, 10, 64); err != nil {
			return 0, errTooLarge
		}
	}
	high, low := bits.Mul64(whole, uint64(size))
	if high > 0 || low > Most {
		return 0, errTooLarge
	}
	if behind = strings.TrimRight(behind, "0"); behind == "" {
		return int64(low), nil
	}
	if len(behind) > mostFraction {
		return 0, fmt.Errorf("has more than %d decimals", mostFraction)
	}
	part, _ := strconv.ParseUint(behind, 10, 64)
	power := uint64(1)
	for range behind {
		power *= 10
	}
	high, product := bits.Mul64(part, uint64(size))
	more, rest := bits.Div64(high, product, power) // part < power, so the quotient fits
	if rest != 0 {
		return 0, fmt.Errorf("is not a whole number of %s", q.smallest())
	}
	if low+more > Most {
		return 0, errTooLarge
	}
	return int64(low + more), nil
}

func (q *Kind) smallest() string {
	least := q.units[0]
	for _, u := range q.units {
		if u.size < least.size {
			least = u
		}
	}
	if least.size != 1 {
		return "tenths of " + least.name
	}
	return least.name
}

// ParseReal reads an amount with decimals, such as a mean. It is exact for output of Real.
func (q *Kind) ParseReal(text string) (float64, error) {
	number, size, err := q.split(text)
	if err != nil {
		return 0, err
	}
	x, err := strconv.ParseFloat(number, 64)
	if err != nil || x*float64(size) > Most {
		return 0, errTooLarge
	}
	return x * float64(size), nil
}

// Whole writes an amount with the largest unit that divides it.
func (q *Kind) Whole(n int64) string {
	for _, u := range q.units[:q.written] {
		if n != 0 && n%u.size == 0 {
			return strconv.FormatInt(n/u.size, 10) + u.name
		}
	}
	return strconv.FormatInt(n, 10) + q.smallest()
}

// Real writes an amount with decimals, so that it reads as the same.
func (q *Kind) Real(x float64) string {
	if n := int64(x); float64(n) == x {
		return q.Whole(n)
	}
	return strconv.FormatFloat(x, 'f', -1, 64) + q.smallest()
}

// PerMille writes a share.
func PerMille(n int) string {
	if n%10 == 0 {
		return strconv.Itoa(n/10) + "%"
	}
	return fmt.Sprintf("%d.%d%%", n/10, n%10)
}
