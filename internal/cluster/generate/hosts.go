package generate

import (
	"strconv"

	"plimsoll/internal/cluster"
)

// overcommit is the number of vCPUs per core.
const overcommit = 4

// makeHosts sizes hosts for the VMs. The largest VM that may be added later fits as well.
func (t *trace) makeHosts() {
	var vcpus, memory, largest int64
	widest := 0
	for i := range t.vms {
		v := &t.vms[i].vm
		widest, largest = max(widest, v.VCPUs), max(largest, v.Memory)
		if i < t.spec.VMs {
			vcpus, memory = vcpus+int64(v.VCPUs), memory+v.Memory+v.Overhead
		}
	}
	n := int64(t.spec.Hosts)
	each := max(memory*100/int64(t.spec.Commit)/n, 2*largest) * 21 / 20 // including the hypervisor's overhead
	has := atLeast(hostMemory, (each+gib-1)/gib)
	cores := atLeast(socketCores, max(int(vcpus/overcommit/n+1)/2, widest/2))
	networks, stores := t.spec.Networks, t.spec.Datastores
	for i := range t.spec.Hosts {
		g := generations[0]
		if t.spec.Mixed {
			g = generations[i%len(generations)]
		}
		h := cluster.Host{
			Name: "host-" + strconv.Itoa(i+1), State: cluster.Connected, Sockets: 2, NodesPerSocket: 1, CoresPerNode: max(4, cores*g.cores/100), ThreadsPerCore: 2,
			MHz: g.mhz, Memory: has * gib, Factor: 1000, NIC: 25_000_000_000,
		}
		h.Overhead = cluster.Resources{CPU: h.MHz, Memory: h.Memory / 50}
		for k := range networks {
			if k == 0 || i%5 != k%5 { // one host in five lacks a network
				h.Networks = append(h.Networks, int32(k))
			}
		}
		for k := range stores {
			if k == 0 || i*4/t.spec.Hosts != k%4 { // a quarter of the hosts does not reach a datastore
				h.Datastores = append(h.Datastores, int32(k))
			}
		}
		t.hosts = append(t.hosts, h)
	}
	t.core = t.hosts[0].MHz
	for i := range t.hosts {
		t.core = min(t.core, t.hosts[i].MHz)
	}
}

// atLeast is the first sufficient size.
func atLeast[N int | int64](sizes []N, need N) N {
	for _, s := range sizes {
		if s >= need {
			return s
		}
	}
	s := sizes[len(sizes)-1]
	for s < need {
		s *= 2
	}
	return s
}

// Samples of calibrate: VMs and times at most, and more minutes of the week if there are few
// VMs, to average out randomness.
const (
	looksAt   = 300
	looks     = 3
	mostScale = 16 * one
	mostMeant = 256 * one
)

// calibrate scales demand so that the hosts have their load: first by the mean demand of the
// VMs, then by the actual load, as some VMs reach their size and bursts add to it.
func (t *trace) calibrate() {
	t.scale = one
	var wanted, has int64
	for i := range t.hosts {
		has += t.hosts[i].Capacity().CPU
	}
	for i := range t.vms {
		wanted += t.typical(i)
	}
	if wanted == 0 {
		return
	}
	meant := min(has*int64(t.spec.Load)/100*one/wanted, mostMeant)
	t.scale = min(meant, mostScale)
	stride := t.spec.VMs/looksAt + 1
	every := int64(max(47, 2*t.spec.VMs/stride-1))
	for look := 0; ; look++ {
		var is, should int64
		for i := 0; i < t.spec.VMs; i += stride {
			for m := int64(0); m < minutesPerWeek; m += every {
				is += t.sample(i, m).CPU
				should += t.typical(i) * meant >> 16
			}
		}
		t.load = int((wanted*meant>>16*(is*1000/max(1, should))/10 + has/2) / has)
		if look == looks {
			return
		}
		t.scale = max(1, min(t.scale*(should*1000/max(1, is))/1000, mostScale))
	}
}

// typical is the mean demand of a VM before calibration, in MHz.
func (t *trace) typical(i int) int64 {
	m := &t.vms[i]
	return int64(m.vm.VCPUs) * t.core * (m.kind.mean * m.busy / 1000) >> 16
}
