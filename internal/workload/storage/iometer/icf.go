package iometer

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"plimsoll/internal/parameter"
)

// ImportICF reads the global access specifications of an Iometer configuration
// file (.icf). A specification of several lines is a mix in which reads and
// randomness go with the size, which no single load of fio can make: it is an
// error that names it.
func ImportICF(r io.Reader) ([]AccessSpec, error) {
	var specs []AccessSpec
	lines := bufio.NewScanner(io.LimitReader(r, 16<<20))
	name, inside, number := "", false, 0
	for lines.Scan() {
		number++
		line := strings.TrimSpace(lines.Text())
		switch {
		case strings.HasPrefix(line, "'ACCESS SPECIFICATIONS"):
			inside = true
		case strings.HasPrefix(line, "'END access specifications"):
			inside = false
		case !inside || line == "" || strings.HasPrefix(line, "'size"):
		case strings.HasPrefix(line, "'"):
			name = ""
		default:
			fields := strings.Split(line, ",")
			if len(fields) < 8 {
				// The line after "'Access specification name,default assignment".
				name = strings.TrimSpace(fields[0])
				continue
			}
			spec, err := icfLine(fields)
			if err != nil {
				return nil, fmt.Errorf("line %d: %w", number, err)
			}
			if n := len(specs); n > 0 && name != "" && specs[n-1].Name == name {
				return nil, fmt.Errorf("line %d: %q has several lines: split it into specifications of one line each", number, name)
			}
			spec.Name = name
			specs = append(specs, spec)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("read Iometer configuration: %w", err)
	}
	if specs == nil {
		return nil, fmt.Errorf("no access specification: an .icf file has a section 'ACCESS SPECIFICATIONS")
	}
	return specs, nil
}

// icfLine reads size, % of size, % reads, % random, delay, burst, align, reply.
func icfLine(fields []string) (AccessSpec, error) {
	var n [8]float64
	for i := range n {
		v, err := strconv.ParseFloat(strings.TrimSpace(fields[i]), 64)
		if err != nil || math.IsNaN(v) || v < 0 {
			return AccessSpec{}, fmt.Errorf("%q is not a number", fields[i])
		}
		n[i] = v
	}
	switch {
	case n[0] < 512 || n[0] > 1<<30 || math.Mod(n[0], 512) != 0:
		return AccessSpec{}, fmt.Errorf("%g bytes is not a multiple of 512 up to 1 GiB", n[0])
	case n[1] != 100:
		return AccessSpec{}, fmt.Errorf("a share of %g %% makes a mix of lines: split it", n[1])
	case n[2] > 100 || n[3] > 100:
		return AccessSpec{}, fmt.Errorf("a share over 100 %%")
	case n[4] != 0 || n[5] > 1:
		return AccessSpec{}, fmt.Errorf("a transfer delay or burst: set load.rate instead")
	case n[7] != 0:
		return AccessSpec{}, fmt.Errorf("a reply size: that is a network specification")
	}
	return AccessSpec{Block: parameter.Bytes(n[0]), Read: parameter.Share(n[2] / 100), Random: parameter.Share(n[3] / 100)}, nil
}
