package engine

import (
	"time"

	"plimsoll/internal/parameter"
	"plimsoll/internal/workload"
)

// UsualPace is that of loads on databases of which a study says nothing. The tick is short
// beside a transaction, and lets the thread that keeps the schedule sleep: it then comes
// before the sessions of a server on the same machine.
func UsualPace() workload.Pace {
	p := workload.UsualPace(10 * time.Second)
	p.Tick = parameter.Duration(500 * time.Microsecond)
	return p
}
