package study

import (
	"time"

	"plimsoll/internal/measure"
)

// Operation is a management operation that is repeated while tiles run, one at a time.
type Operation struct {
	Kind      string        `json:"kind"`                // Restart
	Group     string        `json:"group"`               // whose twin it is done to
	Every     time.Duration `json:"every"`               // shortest time from the beginning of one to that of the next
	Reference float64       `json:"reference,omitempty"` // operations per hour beside one tile on an idle machine; 0 for none
}

// Restart starts the service of a group in a folder of its own, and stops it once it answers: no member of a tile is
// disturbed but by the work.
const Restart = "restart"

// TwinGroup is the group of the machine that operations are done to.
const TwinGroup = "twin"

// Metric is the metric of the operation, completed ones per hour.
func (o Operation) Metric() measure.Metric {
	return measure.OperationsMetric(o.Kind)
}
