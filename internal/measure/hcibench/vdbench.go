package hcibench

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Run is one run of vdbench on a VM, by the line of its averages.
type Run struct {
	IOPS       float64 // 1/s
	Throughput float64 // B/s
	Read       float64 // share of reads
	// Response times in seconds: means, and the longest.
	Mean, ReadMean, WriteMean, Max float64
}

// separateMaxima is the version of vdbench from which on the longest read and the longest write have a column each.
const separateMaxima = "vdbench50407"

// ParseVdbench reads the output of vdbench on a VM: its runs in order, without those that format files. A run that did not end has no averages and is
// missing. It returns false if the text is not of vdbench.
func ParseVdbench(data []byte) (runs []Run, is bool, err error) {
	version, open := "", false
	for n, line := range strings.Split(string(data), "\n") {
		if _, after, found := strings.Cut(line, "Vdbench distribution:"); found {
			is = true
			version, _, _ = strings.Cut(strings.TrimSpace(after), " ")
		} else if _, after, found := strings.Cut(line, " Starting RD="); found {
			is, open = true, !strings.HasPrefix(after, "SD_format")
		} else if _, after, found := strings.Cut(line, "avg_"); found && open {
			run, err := averages(strings.Fields(after), version >= separateMaxima)
			if err != nil {
				return nil, is, fmt.Errorf("line %d: %w", n+1, err)
			}
			runs, open = append(runs, run), false
		}
	}
	return runs, is, nil
}

// averages reads the columns of a line of averages, the first of which names its intervals.
func averages(columns []string, twoMaxima bool) (r Run, err error) {
	into := []*float64{&r.IOPS, &r.Throughput, nil, &r.Read, &r.Mean, &r.ReadMean, &r.WriteMean, &r.Max}
	second := 0.
	if twoMaxima {
		into = append(into, &second)
	}
	if len(columns) <= len(into) {
		return r, fmt.Errorf("%d columns of averages, expected at least %d", max(0, len(columns)-1), len(into))
	}
	for i, v := range into {
		if v == nil {
			continue
		}
		if *v, err = strconv.ParseFloat(columns[i+1], 64); err != nil || *v < 0 || math.IsInf(*v, 0) || math.IsNaN(*v) {
			return r, fmt.Errorf("column %d of averages is %q, not a number", i+1, columns[i+1])
		}
	}
	r.Max = max(r.Max, second)
	r.Throughput *= 1 << 20
	r.Read = min(1, r.Read/100)
	for _, v := range []*float64{&r.Mean, &r.ReadMean, &r.WriteMean, &r.Max} {
		*v /= 1000
	}
	return r, nil
}
