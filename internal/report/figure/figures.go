// Package figure lists the figures of a report; each file is one of them.
package figure

import (
	"plimsoll/internal/report/chart"
	"plimsoll/internal/report/forest"
)

// All lists every figure in the order of the page.
func All() []chart.Figure {
	return []chart.Figure{
		forest.Headlines(), forest.Tuning(),
		bars(), rateLatency(), scaleOut(), machines(), loadLatency(), percentiles(), timeSeries(), runs(), forest.Counters(), forest.OtherMetrics(), forest.Metrics(), sight(),
		forest.Published(), trials(), noise(),
	}
}
