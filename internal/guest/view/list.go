package view

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// List reads a CPU list as the kernel writes it, such as "0-3,8", into ascending
// numbers. An empty list has none.
func List(s string) ([]int, error) {
	var l []int
	if s == "" {
		return nil, nil
	}
	for part := range strings.SplitSeq(s, ",") {
		from, to, isRange := strings.Cut(part, "-")
		if !isRange {
			to = from
		}
		a, errA := strconv.ParseUint(from, 10, 16)
		b, errB := strconv.ParseUint(to, 10, 16)
		if errA != nil || errB != nil || a > b {
			return nil, fmt.Errorf("%q is not a CPU list: give one such as 0-3,8", s)
		}
		if len(l)+int(b-a) >= most {
			return nil, fmt.Errorf("a list of more than %d CPUs", most)
		}
		for n := a; n <= b; n++ {
			l = append(l, int(n))
		}
	}
	slices.Sort(l)
	return slices.Compact(l), nil
}

// FormatList writes numbers of CPUs as the kernel does, such as 0-3,8.
func FormatList(cpus []int) string {
	slices.Sort(cpus)
	cpus = slices.Compact(cpus)
	var parts []string
	for len(cpus) > 0 {
		n := 1
		for n < len(cpus) && cpus[n] == cpus[0]+n {
			n++
		}
		parts, cpus = append(parts, Span(cpus[0], cpus[n-1])), cpus[n:]
	}
	return strings.Join(parts, ",")
}

// Span writes a range of numbers as the kernel does.
func Span(first, last int) string {
	if first == last {
		return fmt.Sprint(first)
	}
	return fmt.Sprintf("%d-%d", first, last)
}
