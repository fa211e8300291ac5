// Package frequency holds the rules of diagnosis about the speed of CPUs.
package frequency

import "plimsoll/internal/diagnosis"

// All lists the rules.
func All() []diagnosis.Rule { return []diagnosis.Rule{frequencyLimit, cStateLatency} }
