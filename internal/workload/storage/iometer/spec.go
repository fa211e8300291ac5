// Package iometer reads access specifications of Iometer: their short names, and its configuration files.
package iometer

import (
	"fmt"
	"strconv"
	"strings"

	"plimsoll/internal/parameter"
)

// AccessSpec is an access specification of Iometer.
type AccessSpec struct {
	Name   string
	Block  parameter.Bytes
	Read   parameter.Share
	Random parameter.Share
}

// ParseSpec reads the short name of an access specification: bytes, share of
// reads and share of random operations in percent, as in 4096_100_0.
func ParseSpec(name string) (AccessSpec, error) {
	bad := fmt.Errorf("spec %q is not like 4096_100_0: bytes, percent of reads, percent at random", name)
	fields := strings.Split(name, "_")
	if len(fields) != 3 {
		return AccessSpec{}, bad
	}
	var n [3]int64
	for i, f := range fields {
		v, err := strconv.ParseInt(f, 10, 64)
		if err != nil || v < 0 {
			return AccessSpec{}, bad
		}
		n[i] = v
	}
	if n[0] < 512 || n[0] > 1<<30 || n[0]%512 != 0 {
		return AccessSpec{}, fmt.Errorf("spec %q: %d bytes is not a multiple of 512 up to 1 GiB", name, n[0])
	}
	if n[1] > 100 || n[2] > 100 {
		return AccessSpec{}, bad
	}
	return AccessSpec{Name: name, Block: parameter.Bytes(n[0]), Read: parameter.Share(float64(n[1]) / 100), Random: parameter.Share(float64(n[2]) / 100)}, nil
}
