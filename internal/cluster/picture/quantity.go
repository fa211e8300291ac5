package picture

import (
	"fmt"
	"math"
	"strconv"
)

// finite replaces NaN and negative numbers by 0, and infinity by a number that can be drawn.
func finite(v float64) float64 {
	if math.IsNaN(v) || v < 0 {
		return 0
	}
	return min(v, 1e6)
}

// percent is a share as text.
func percent(share float64) string { return fmt.Sprintf("%.0f %%", 100*finite(share)) }

// change is two shares, or one if both have the same text.
func change(v [2]float64) string {
	one, two := percent(v[0]), percent(v[1])
	if one == two {
		return one
	}
	return one[:len(one)-2] + " → " + two
}

// px is a coordinate with one decimal.
func px(v float64) string {
	return strconv.FormatFloat(math.Round(v*10)/10, 'f', -1, 64)
}

// mhz is an amount of CPU in a suitable unit.
func mhz(n int64) string {
	switch {
	case n >= 10_000_000:
		return fmt.Sprintf("%.4g THz", float64(n)/1e6)
	case n >= 10_000:
		return fmt.Sprintf("%.4g GHz", float64(n)/1000)
	}
	return fmt.Sprintf("%d MHz", n)
}

// bytesText is an amount of memory in a suitable unit.
func bytesText(n int64) string {
	const mib, gib, tib = 1 << 20, 1 << 30, 1 << 40
	switch {
	case n >= 10*tib:
		return fmt.Sprintf("%.4g TiB", float64(n)/tib)
	case n >= 10*gib:
		return fmt.Sprintf("%.4g GiB", float64(n)/gib)
	}
	return fmt.Sprintf("%d MiB", n/mib)
}
