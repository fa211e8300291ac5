package replay

import (
	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/balance"
	"plimsoll/internal/cluster/place"
)

// Times for which the policy remembers, in seconds.
const (
	cooldown = 1800 // a machine that was moved stays
	noReturn = 3600 // and does not go back to where it was
)

// Own is the policy of package balance.
type Own struct {
	moved map[cluster.VMID]int64
	left  map[leave]int64
}

type leave struct {
	vm   cluster.VMID
	host cluster.HostID
}

// NewOwn is that policy with nothing to remember.
func NewOwn() Policy { return &Own{moved: map[cluster.VMID]int64{}, left: map[leave]int64{}} }

// Every is a minute.
func (o *Own) Every() int64 { return 60 }

// Round starts what does not run, and then does what a round of the balancer says.
func (o *Own) Round(v *View) []Step {
	out := o.starts(v)
	recent := func(at int64, known bool, within int64) bool { return known && v.Now-at < within }
	plan := balance.Round(v.Layout, v.Index, balance.Options{
		Cooling: func(vm cluster.VMID) bool {
			at, known := o.moved[vm]
			return v.Moving[vm] || recent(at, known, cooldown)
		},
		Left: func(vm cluster.VMID, h cluster.HostID) bool {
			at, known := o.left[leave{vm, h}]
			return recent(at, known, noReturn)
		},
	})
	base := len(out)
	for _, m := range plan.Moves {
		o.moved[m.VM], o.left[leave{m.VM, m.From}] = v.Now, v.Now
		out = append(out, Step{VM: m.VM, To: m.To, Number: base + m.Number, Reason: string(m.Reason)})
	}
	return out
}

// starts places the machines that have no host yet.
func (o *Own) starts(v *View) (out []Step) {
	var vms []cluster.VMID
	for i := range v.Cluster.VMs {
		if v.Down[i] && v.Cluster.VMs[i].Host == cluster.Nowhere {
			vms = append(vms, cluster.VMID(i))
		}
	}
	if len(vms) == 0 {
		return nil
	}
	for _, c := range place.New(v.Layout, v.Index).Group(vms) {
		for _, s := range c.First {
			out = append(out, Step{VM: s.VM, To: s.To, Number: len(out) + 1, Reason: string(balance.MakeRoom)})
		}
		if c.Host != cluster.Nowhere {
			out = append(out, Step{VM: c.VM, To: c.Host, Number: len(out) + 1, Reason: "start"})
		}
	}
	return out
}
