package ceph

import (
	"fmt"
	"strconv"
	"strings"
)

// redundancy is how data survives the loss of an OSD: copies, or data and coding chunks.
type redundancy struct {
	copies       int // 0 with an erasure code
	data, coding int
}

// parseRedundancy parses replica:N and ec:K+M.
func parseRedundancy(text string) (r redundancy, err error) {
	bad := fmt.Errorf("redundancy %q: must be replica:N, such as replica:3, or ec:K+M, such as ec:4+2", text)
	kind, numbers, _ := strings.Cut(text, ":")
	parse := func(number string) int {
		n, failed := strconv.Atoi(number)
		if failed != nil || n < 1 || n > 32 || number[0] == '+' {
			err = bad
		}
		return n
	}
	switch kind {
	case "replica":
		r.copies = parse(numbers)
	case "ec":
		k, m, _ := strings.Cut(numbers, "+")
		r.data, r.coding = parse(k), parse(m)
		if err == nil && r.data < 2 {
			err = fmt.Errorf("redundancy %s: an erasure code has at least 2 data chunks; for copies take replica:%d", text, 1+r.coding)
		}
	default:
		err = bad
	}
	return r, err
}

// chunks is the number of OSDs that hold a part of an object.
func (r redundancy) chunks() int { return r.copies + r.data + r.coding }

// spare is the number of OSDs that may be lost.
func (r redundancy) spare() int {
	if r.copies > 0 {
		return r.copies - 1
	}
	return r.coding
}

// Amplification is how many bytes a pool writes for each byte of data, by the text of its redundancy; empty is the default.
func Amplification(text string) (float64, error) {
	if text == "" {
		text = defaults().Redundancy
	}
	r, err := parseRedundancy(text)
	return r.amplification(), err
}

// amplification is the space taken per byte of data.
func (r redundancy) amplification() float64 {
	if r.copies > 0 {
		return float64(r.copies)
	}
	return float64(r.chunks()) / float64(r.data)
}
