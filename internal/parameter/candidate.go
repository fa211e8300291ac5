package parameter

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Candidate is a setting with the levels that practice tries first. Its kind in the catalog lists it.
type Candidate struct {
	Setting string    // full name of a setting or factor, such as postgresql.shared_buffers
	Levels  []string  // as in a study
	Memory  []float64 // levels as shares of the machine's memory
	CPUs    []float64 // levels as multiples of the machine's CPUs
	Why     string    // the effect to expect, as a phrase
}

// coarse is the unit to which levels relative to the memory are rounded, so that reports stay readable.
const coarse = 64 << 20

// Said are the levels as text, some relative to the machine.
func (c Candidate) Said() string {
	levels := slices.Clone(c.Levels)
	for _, share := range c.Memory {
		levels = append(levels, fmt.Sprintf("%.3g %% of memory", 100*share))
	}
	for _, times := range c.CPUs {
		levels = append(levels, fmt.Sprintf("%g x CPUs", times))
	}
	return strings.Join(levels, ", ")
}

// For returns the levels for a machine, without duplicates. Relative levels are left out where the
// size of the machine is 0, which is unknown.
func (c Candidate) For(cpus int, memory Bytes) []string {
	levels := slices.Clone(c.Levels)
	add := func(text string) {
		if !slices.Contains(levels, text) {
			levels = append(levels, text)
		}
	}
	for _, share := range c.Memory {
		if n := Bytes(share*float64(memory)) / coarse * coarse; n > 0 {
			add(n.String())
		}
	}
	for _, times := range c.CPUs {
		if cpus > 0 {
			add(strconv.Itoa(max(1, int(math.Round(times*float64(cpus))))))
		}
	}
	return levels
}
