package contention

import "plimsoll/internal/cluster"

// minFree is the memory that a host keeps free, in bytes: 6 % of its first 4 GiB, 4 % up to
// 12 GiB, 2 % up to 28 GiB and 1 % of the rest.
//
// Source: Denneman, "Mem.MinFreePct sliding scale function" (vSphere 5 and later).
func minFree(memory int64) int64 {
	const gib = 1 << 30
	switch {
	case memory <= 0:
		return 0
	case memory <= 4*gib:
		return memory / 100 * 6
	case memory <= 12*gib:
		return 4*gib/100*6 + (memory-4*gib)/100*4
	case memory <= 28*gib:
		return 4*gib/100*6 + 8*gib/100*4 + (memory-12*gib)/100*2
	}
	return 4*gib/100*6 + 8*gib/100*4 + 16*gib/100*2 + (memory-28*gib)/100
}

// highState is the free memory of the high state in multiples of minFree; nothing is reclaimed
// there. Below it large pages are broken up and shared, below 64 % of minFree memory is
// ballooned, below 32 % it is compressed and swapped.
//
// Source: the memory states of ESXi since 6.0: high 400 %, clear 100 %, soft 64 %, hard 32 %,
// low 16 % of minFree.
const highState = 4

// Memory is the part of their work that VMs lose to memory reclamation, in millionths: none in
// the high state, then linear up to a quarter where no memory is free. Beyond that, twice the
// memory that does not fit is added, as it is swapped. The factors are ours.
func Memory(demand, capacity int64) int64 {
	free, high := capacity-demand, highState*minFree(capacity)
	switch {
	case free >= high:
		return 0
	case free >= 0:
		return Load(high-free, high) / 4
	}
	return min(million, million/4+2*(Load(demand, capacity)-million))
}

// contended is the criterion of moves for load balance, in MHz: the demand that a host delays
// or does not serve, or the corresponding part of its cores where it reclaims memory. Idle
// cores do not make memory contention cheaper.
func contended(demand, capacity cluster.Resources, cpu, limit int64) int64 {
	return max(Part(demand.CPU, Loss(cpu, limit)), Part(capacity.CPU, Memory(demand.Memory, capacity.Memory)))
}
