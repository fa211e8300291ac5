package study

import (
	"fmt"
	"math"
	"strconv"
	"time"

	"plimsoll/internal/parameter"
)

// Limit is a bound on a metric, in base units.
type Limit struct {
	Metric string   `json:"metric"`
	Unit   string   `json:"unit,omitempty"` // of the metric; empty in folders of earlier versions
	Min    *float64 `json:"min,omitempty"`
	Max    *float64 `json:"max,omitempty"`
}

// String formats a limit as in a study file: "p99 <= 20ms". Without a unit numbers stand
// alone.
func (l Limit) String() string {
	quantity := func(v float64) string {
		switch l.Unit {
		case "s":
			return parameter.Duration(math.Round(v * float64(time.Second))).String()
		case "B":
			return parameter.Bytes(v).String()
		case "1/s":
			return parameter.Rate(v).String()
		case "B/s":
			return parameter.Bytes(v).String() + "/s"
		case "share":
			return parameter.Share(v).String()
		}
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	switch {
	case l.Min != nil && l.Max != nil:
		return fmt.Sprintf("%s <= %s <= %s", quantity(*l.Min), l.Metric, quantity(*l.Max))
	case l.Min != nil:
		return l.Metric + " >= " + quantity(*l.Min)
	case l.Max != nil:
		return l.Metric + " <= " + quantity(*l.Max)
	}
	return l.Metric
}
