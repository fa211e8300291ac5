// Package sca estimates the cost of side-channel-aware CPU schedulers: the work of VMs on a
// host whose cores VMs may not share.
//
// The inputs are a host, the sizes of its VMs and the gain of a core from its second thread.
// The results, per policy, are the work of these VMs with all vCPUs busy, the factor of the
// host's capacity when it is full of such VMs, and caveats. All amounts are integers.
//
// It models cores, not applications. Under SCAv2 the parity of vCPUs matters: the last vCPU of
// a VM with an odd number leaves a thread of its core idle.
package sca

import (
	"errors"
	"fmt"

	"plimsoll/internal/cluster"
)

// Policy decides which vCPUs may run on the two threads of a core at the same time.
type Policy string

// The policies, as vSphere names them.
const (
	Default Policy = "default" // any two
	V1      Policy = "scav1"   // none: one thread of each core is used
	V2      Policy = "scav2"   // two of one VM
)

// policies lists all, in the order of an assessment.
var policies = []Policy{Default, V1, V2}

const (
	// DefaultYield is the work of a core with both threads busy, per mille of its work with
	// one. It gives the largest published loss of SCAv1, 30 %. Most applications gain less
	// from the second thread, and lose less without it.
	DefaultYield = 1430

	one = 1000 // work of a core with one thread busy, per mille

	// fillCost is the loss of SCAv2 relative to SCAv1, per mille, with one VM that has every
	// thread of the host. Only the sign is published: SCAv1 is slightly faster there.
	fillCost = 10

	// Bounds with which no product overflows.
	mostVMs   = 1 << 20
	mostCores = 1 << 13
)

// Group is VMs of one size.
type Group struct {
	VCPUs int `json:"vcpus"`
	Count int `json:"count"`
}

// Row is the result of one policy for a host and its VMs.
type Row struct {
	Policy Policy `json:"policy"`
	// Work is the work done with every vCPU of these VMs busy, per mille of a core with one
	// thread busy.
	Work int64 `json:"work"`
	// Relative is Work, per mille of that under the default policy.
	Relative int `json:"relative"`
	// Factor is the usable part of the capacity of a host full of VMs in these proportions,
	// per mille: the Factor of a cluster.Host.
	Factor int `json:"factor"`
	// CPU is the capacity of the host with that factor, in MHz.
	CPU int64 `json:"cpu"`
	// Idle is the number of threads that no vCPU may use while all of these VMs run.
	Idle    int      `json:"idle"`
	Caveats []string `json:"caveats"`
	// Shared reports more vCPUs than cores, so that threads are shared. With fewer, every vCPU
	// has a core under each policy, and there is no loss.
	Shared bool `json:"shared"`

	measured []Point // of the policy, by load
}

// assess estimates the work of a host with a mix of VMs under each policy. The yield is from
// 1000 to 2000. It fails if there is no VM, a VM is larger than the host, or a core has more
// than two threads.
func assess(h *cluster.Host, mix []Group, m Model) ([]Row, error) {
	l, err := count(h, mix, int64(m.yield()))
	if err != nil {
		return nil, fmt.Errorf("estimate the schedulers of host %q: %w", h.Name, err)
	}
	var rows []Row
	for _, p := range policies {
		r := Row{Policy: p, Work: l.work(p), Factor: int(l.full(p) * 1000 / l.full(Default)), Idle: l.idle(p), Caveats: l.caveats(p), Shared: l.threads == 2 && l.vcpus > l.cores, measured: m.of(p)}
		if p == V2 && l.threads == 2 {
			r.Factor = int(int64(r.Factor) * m.kept() / one)
		}
		if p == V2 && r.Shared {
			r.Work = r.Work * m.kept() / one
		}
		r.Relative = int(r.Work * 1000 / l.work(Default))
		with := *h
		with.Factor = r.Factor
		r.CPU = with.Capacity().CPU
		rows = append(rows, r)
	}
	return rows, nil
}

// LossAt is the part of demand that the capacity of the policy cannot serve, per mille. Load
// is the demand, per mille of the capacity under the default policy with such VMs. It does not
// include queueing below the capacity, which only measurements have (Expected).
func (r Row) LossAt(load int) int {
	if load <= r.Factor {
		return 0
	}
	return (load - r.Factor) * 1000 / load
}

// load is a host with counts of its VMs.
type load struct {
	cores   int64
	threads int   // of a core
	yield   int64 // of a core with both threads busy, per mille
	vcpus   int64 // of all VMs
	pairs   int64 // of vCPUs of one VM
	odd     int64 // VMs with an odd number of vCPUs
	fills   bool  // one VM that has every thread
}

func (l *load) add(g Group) {
	n := int64(g.Count)
	l.vcpus += n * int64(g.VCPUs)
	l.pairs += n * int64(g.VCPUs/2)
	l.odd += n * int64(g.VCPUs%2)
}

func count(h *cluster.Host, mix []Group, yield int64) (load, error) {
	l := load{cores: int64(h.Cores()), threads: h.ThreadsPerCore, yield: yield}
	switch {
	case l.cores < 1 || l.cores > mostCores:
		return l, fmt.Errorf("it has %d cores: must be 1 to %d", l.cores, mostCores)
	case l.threads != 1 && l.threads != 2:
		return l, fmt.Errorf("its cores have %d threads: only 1 and 2 are supported", l.threads)
	case yield < one || yield > 2*one:
		return l, fmt.Errorf("a core with both threads busy does %d per mille: must be %d to %d", yield, one, 2*one)
	}
	vms := 0
	for _, g := range mix {
		switch {
		case g.VCPUs < 1 || int64(g.VCPUs) > l.cores*int64(l.threads):
			return l, fmt.Errorf("a VM of %d vCPUs does not fit its %d threads", g.VCPUs, l.cores*int64(l.threads))
		case g.Count < 0 || g.Count > mostVMs-vms:
			return l, fmt.Errorf("%d VMs of %d vCPUs: must be 0 to %d in total", g.Count, g.VCPUs, mostVMs)
		}
		vms += g.Count
		l.add(g)
		l.fills = l.fills || g.Count > 0 && int64(g.VCPUs) == l.cores*int64(l.threads)
	}
	if vms == 0 {
		return l, errors.New("no VMs: specify those that it runs")
	}
	l.fills = l.fills && vms == 1 && l.threads == 2
	return l, nil
}
