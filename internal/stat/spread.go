package stat

import "slices"

// Spread says how evenly a total is divided, such as the soft interrupts of a host over its
// CPUs.
type Spread struct {
	Busiest  float64 // share of the largest
	Gini     float64 // 0 for equal parts, near 1 for all in one of many
	Carrying int     // fewest parts that hold the given share together
}

// SpreadOf describes the division of a total into parts, which are 0 or more. carrying is the
// share that Spread.Carrying parts hold, such as 0.9. Without a positive total it is false.
//
// Source: Gini (1912); Sen (1973), On Economic Inequality, section 2.8.
func SpreadOf(parts []float64, carrying float64) (Spread, bool) {
	sorted := slices.Sorted(slices.Values(parts))
	var total, ranked float64
	for i, x := range sorted {
		total += x
		ranked += float64(i+1) * x
	}
	n := float64(len(sorted))
	if !(total > 0) || sorted[0] < 0 {
		return Spread{}, false
	}
	s := Spread{Busiest: sorted[len(sorted)-1] / total, Gini: 2*ranked/(n*total) - (n+1)/n}
	held := 0.0
	for _, x := range slices.Backward(sorted) {
		s.Carrying++
		if held += x; held >= carrying*total*(1-1e-12) {
			break
		}
	}
	return s, true
}
