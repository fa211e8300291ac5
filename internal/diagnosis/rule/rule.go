// Package rule holds the rules of diagnosis, one file each. Rules do not depend on one another.
package rule

import (
	"slices"

	"plimsoll/internal/diagnosis"
	"plimsoll/internal/diagnosis/rule/frequency"
	"plimsoll/internal/diagnosis/rule/memory"
	"plimsoll/internal/diagnosis/rule/network"
	"plimsoll/internal/diagnosis/rule/storage"
)

// All lists the rules.
func All() []diagnosis.Rule {
	return slices.Concat(general(), frequency.All(), memory.All(), storage.All(), network.All())
}

func general() []diagnosis.Rule {
	return []diagnosis.Rule{
		cpuQuota,
		cpusetTooSmall,
		cpuAffinity,
		cpuSteal,
		readyTime,
		softirqOnOneCPU,
		reschedulingStorm,
		interruptCoalescing,
		remoteNUMA,
		cacheTopology,
		smtContention,
		clientLimit,
		tooFewWorkers,
		tooManyWorkers,
		hotThread,
		lockConvoy,
		periodicStall,
		noisyNeighbour,
		cpuSaturated,
	}
}
