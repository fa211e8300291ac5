package peak

import (
	"fmt"
	"math"
	"strings"
)

const (
	leastPeers = 2  // other probes of a rate that tell an outlier, and
	outlying   = 4. // ratio of its response time to theirs
)

// withoutOutliers separates the probes that are far slower than all others at their rate, which are within the limit.
func withoutOutliers(points []Point, limit float64) (rest, outliers []Point) {
	for i, p := range points {
		peers, slowest := 0, 0.
		for k, other := range points {
			if k != i && other.Rate == p.Rate {
				peers++
				slowest = math.Max(slowest, other.Seconds) // NaN without a steady one
			}
		}
		if peers >= leastPeers && slowest <= limit && p.Seconds > limit && p.Seconds >= outlying*slowest {
			outliers = append(outliers, p)
		} else {
			rest = append(rest, p)
		}
	}
	return rest, outliers
}

// LeftOut names the outliers; empty for none.
func (f Fit) LeftOut() string {
	var parts []string
	for _, p := range f.Outliers {
		parts = append(parts, fmt.Sprintf("%s at %.6g/s", span(p.Seconds), p.Rate))
	}
	if len(parts) == 0 {
		return ""
	}
	return fmt.Sprintf("left out of the fit as outliers, at least %g times slower than the other probes at their rate: %s", outlying, strings.Join(parts, ", "))
}
