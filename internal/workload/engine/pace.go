package engine

import (
	"time"

	"plimsoll/internal/parameter"
	"plimsoll/internal/workload"
)

// UsualPace is the default pace of database loads. The tick is short compared to a
// transaction, and lets the scheduling thread sleep: the kernel then prefers it to the
// sessions of a server on the same machine.
func UsualPace() workload.Pace {
	p := workload.UsualPace(10 * time.Second)
	p.Tick = parameter.Duration(500 * time.Microsecond)
	return p
}
