package platform

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// CPUs is a set of CPUs in rising order, each once.
type CPUs []int

// CPUsOf is the set of some CPUs.
func CPUsOf(numbers []int) CPUs { return slices.Compact(slices.Sorted(slices.Values(numbers))) }

// mostCPUs is the largest number of CPUs that Linux can be built for.
const mostCPUs = 8192

// ParseCPUs reads a CPU list as the kernel writes it, such as "0-1,4". A list
// may name a CPU twice and in any order; an empty one is an error.
func ParseCPUs(text string) (CPUs, error) {
	var cpus CPUs
	for part := range strings.SplitSeq(strings.TrimSpace(text), ",") {
		first, last, isRange := strings.Cut(part, "-")
		low, err := strconv.ParseUint(first, 10, 16)
		high := low
		if err == nil && isRange {
			high, err = strconv.ParseUint(last, 10, 16)
		}
		if err != nil || high < low || high >= mostCPUs {
			return nil, fmt.Errorf("%q is not a CPU list such as 0-3,8", text)
		}
		for cpu := low; cpu <= high; cpu++ {
			cpus = append(cpus, int(cpu))
		}
	}
	return CPUsOf(cpus), nil
}

// String writes the list in its shortest form, as the kernel does.
func (c CPUs) String() string {
	var b strings.Builder
	for i := 0; i < len(c); {
		j := i
		for j+1 < len(c) && c[j+1] == c[j]+1 {
			j++
		}
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strconv.Itoa(c[i]))
		if j > i {
			b.WriteByte('-')
			b.WriteString(strconv.Itoa(c[j]))
		}
		i = j + 1
	}
	return b.String()
}

// Without returns the CPUs that are not among others.
func (c CPUs) Without(others CPUs) CPUs {
	var rest CPUs
	for _, cpu := range c {
		if _, found := slices.BinarySearch(others, cpu); !found {
			rest = append(rest, cpu)
		}
	}
	return rest
}
