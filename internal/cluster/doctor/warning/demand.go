package warning

import (
	"fmt"
	"slices"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/doctor/words"
)

// atLimit is the percentage of its limit from which a VM is assumed to be throttled, with
// unknown demand.
const atLimit = 95

func limited(asks, limit int64) bool {
	return limit != cluster.Unlimited && asks > 0 && asks >= limit/100*atLimit+limit%100*atLimit/100
}

// throttled finds VMs whose demand reaches their limit.
func throttled(s indexedCluster) []Warning {
	var names, says []string
	for i := range s.c.VMs {
		vm := &s.c.VMs[i]
		if !s.runs(i) {
			continue
		}
		said := ""
		if asks := int64(vm.Demand.CPU.Recent); vm.Demand.CPU.Count > 0 && limited(asks, vm.CPU.Limit) && vm.CPU.Limit < int64(vm.VCPUs)*cluster.CoreSpeed(s.c) {
			said = fmt.Sprintf("%s demands %d MHz at a limit of %d MHz", vm.Name, asks, vm.CPU.Limit)
		}
		if asks := int64(vm.Demand.Active.Recent); vm.Demand.Active.Count > 0 && limited(asks, vm.Mem.Limit) && vm.Mem.Limit < vm.Memory {
			text := fmt.Sprintf("uses %s of memory at a limit of %s", cluster.MiB(asks), cluster.MiB(vm.Mem.Limit))
			if said == "" {
				said = vm.Name + " " + text
			} else {
				said += ", " + text
			}
		}
		if said != "" {
			names, says = append(names, vm.Name), append(says, said)
		}
	}
	return gathered(says, Warning{Kind: "limit", VMs: names, Do: "remove the limits; shares protect other VMs under contention"})
}

// throttledPools finds pools whose limit is below the demand of their VMs.
func throttledPools(s indexedCluster) []Warning {
	var says, names []string
	asked := make([]cluster.Resources, len(s.c.Pools))
	for i := range s.c.VMs {
		if !s.runs(i) {
			continue
		}
		p, deep := s.c.VMs[i].Pool, 0
		for ; p != cluster.Nowhere && deep <= len(s.c.Pools); deep++ {
			asked[p] = asked[p].Plus(s.x.Demand(cluster.VMID(i)))
			p = s.c.Pools[p].Parent
		}
	}
	for p := 1; p < len(s.c.Pools); p++ { // the root has the cluster's capacity
		pool := &s.c.Pools[p]
		if asked[p].CPU > pool.CPU.Limit {
			says, names = append(says, fmt.Sprintf("VMs in pool %s demand %d MHz, but its limit is %d MHz", pool.Name, asked[p].CPU, pool.CPU.Limit)), append(names, pool.Name)
		}
		if asked[p].Memory > pool.Mem.Limit {
			says = append(says, fmt.Sprintf("VMs in pool %s demand %s of memory, but its limit is %s", pool.Name, cluster.MiB(asked[p].Memory), cluster.MiB(pool.Mem.Limit)))
			names = append(names, pool.Name)
		}
	}
	return gathered(says, Warning{Kind: "pool limit", Pools: slices.Compact(names), Do: "raise the limit of the pool, or remove it"})
}

// unseen finds VMs without demand samples.
func unseen(s indexedCluster) []Warning {
	var names []string
	running := 0
	for i := range s.c.VMs {
		if !s.runs(i) {
			continue
		}
		running++
		if s.c.VMs[i].Demand.CPU.Count == 0 {
			names = append(names, s.c.VMs[i].Name)
		}
	}
	if len(names) == 0 {
		return nil
	}
	return []Warning{{Kind: "no history", VMs: names, Text: fmt.Sprintf("no demand samples for %d of %d running VMs (%s): each is assumed to demand half of its size", len(names), running, words.Named(names)),
		Do: "take a new snapshot once they have run for some minutes; loads and moves above depend on this assumption"}}
}
