// Package rule lists the rules of diagnosis. They do not depend on one another.
package rule

import (
	"slices"

	"plimsoll/internal/diagnosis"
	"plimsoll/internal/diagnosis/rule/cpu"
	"plimsoll/internal/diagnosis/rule/frequency"
	"plimsoll/internal/diagnosis/rule/memory"
	"plimsoll/internal/diagnosis/rule/network"
	"plimsoll/internal/diagnosis/rule/storage"
	"plimsoll/internal/diagnosis/rule/thread"
)

// All lists the rules.
func All() []diagnosis.Rule {
	return slices.Concat(cpu.All(), thread.All(), frequency.All(), memory.All(), storage.All(), network.All())
}
