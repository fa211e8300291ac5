package study

import (
	"fmt"
	"time"

	"plimsoll/internal/measure"
	"plimsoll/internal/platform"
)

// Operation is a management operation that is repeated while tiles run: of each kind one at a time.
type Operation struct {
	Kind      string        `json:"kind"`                // Restart, or one of the platform
	Group     string        `json:"group"`               // whose twin it is done to
	Every     time.Duration `json:"every"`               // shortest time from the beginning of one to that of the next
	Reference float64       `json:"reference,omitempty"` // operations per hour beside one tile on an idle machine; 0 for none
}

// Restart starts the service of a group in a folder of its own, and stops it once it answers: no member of a tile is
// disturbed but by the work. Every platform has it.
const Restart = "restart"

// Operations are all kinds of management operations.
func Operations() []string {
	return []string{Restart, platform.Migrate, platform.Deploy, platform.Snapshot}
}

// TwinGroup is the group of the machine that is restarted. The names of those for other operations begin with it.
const TwinGroup = "twin"

// Twin is the group of the machine that the operation is done to; empty for one that makes its own.
func (o Operation) Twin() string {
	switch o.Kind {
	case Restart:
		return TwinGroup
	case platform.Deploy:
		return ""
	}
	return TwinGroup + "-" + o.Kind
}

// String is what is done, in words.
func (o Operation) String() string {
	if o.Kind == platform.Deploy {
		return fmt.Sprintf("%s of a machine like those of group %s, every %s", o.Kind, o.Group, o.Every)
	}
	return fmt.Sprintf("%s of a twin of group %s, every %s", o.Kind, o.Group, o.Every)
}

// Metric is the metric of the operation, completed ones per hour.
func (o Operation) Metric() measure.Metric {
	return measure.OperationsMetric(o.Kind)
}
