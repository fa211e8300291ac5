package generate

import (
	"slices"
	"strconv"

	"plimsoll/internal/cluster"
)

const mostApart = 6

// rules are for applications of several VMs, one each: replicas stay apart, and licences bind
// VMs to some hosts.
func (t *trace) rules() []cluster.Rule {
	s := &stream{seed: hash(t.spec.Seed, forStream, 2)}
	var out []cluster.Rule
	for g, members := range t.groups {
		if len(out) == t.spec.Rules {
			break
		}
		if len(members) < 2 || s.below(3) == 0 {
			continue
		}
		r := cluster.Rule{Must: s.below(2) == 0}
		vms := func(n int) {
			for _, m := range members[:min(n, len(members))] {
				r.VMs = append(r.VMs, cluster.VMID(m))
			}
		}
		switch s.pick([]int{60, 20, 15, 5}) {
		case 0:
			r.Kind = cluster.Apart
			vms(min(mostApart, max(2, t.spec.Hosts/2)))
		case 1:
			r.Kind = cluster.Together
			vms(2)
		case 2:
			r.Kind = cluster.OnHosts
			vms(len(members))
			r.Hosts = t.hostsFor(s, t.vms[members[0]].vm, (t.spec.Hosts+1)/2)
		default:
			r.Kind = cluster.OffHosts
			vms(len(members))
			if n := t.spec.Hosts / 8; n > 0 {
				r.Hosts = []cluster.HostID{cluster.HostID(s.below(t.spec.Hosts))}
			}
		}
		if t.spec.Hosts < 3 && (r.Kind == cluster.Apart || r.OfHosts()) || r.OfHosts() && len(r.Hosts) == 0 {
			continue
		}
		r.Name = string(r.Kind) + "-" + strconv.Itoa(g+1)
		out = append(out, r)
	}
	return out
}

// hostsFor is a number of hosts that meet a VM's requirements, from a random one on.
func (t *trace) hostsFor(s *stream, v cluster.VM, n int) []cluster.HostID {
	var out []cluster.HostID
	from := s.below(t.spec.Hosts)
	for i := range t.hosts {
		h := (from + i) % t.spec.Hosts
		if slices.Contains(t.hosts[h].Networks, v.Networks[0]) && slices.Contains(t.hosts[h].Datastores, v.Datastores[0]) && len(out) < n {
			out = append(out, cluster.HostID(h))
		}
	}
	slices.Sort(out)
	return out
}
