package snapshot

import (
	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/snapshot/unit"
)

func (p *printer) pool(c *cluster.Cluster, i int) string {
	o := &c.Pools[i]
	l := p.line().text("name", o.Name)
	if o.Parent > 0 {
		l.text("parent", c.Pools[o.Parent].Name)
	}
	cpu, memory := cluster.PoolShares(o.Level)
	if o.Level.Factor() > 0 && o.CPU.Shares == cpu && o.Mem.Shares == memory {
		l.text("shares", string(o.Level))
	} else {
		s := p.line()
		if o.Level != "" {
			s.text("level", string(o.Level))
		}
		l.nested("shares", s.number("cpu", int(o.CPU.Shares)).number("memory", int(o.Mem.Shares)))
	}
	p.promises(l, &o.CPU, &o.Mem)
	if !o.CPU.Expandable || !o.Mem.Expandable {
		l.nested("expandable", p.line().flag("cpu", o.CPU.Expandable).flag("memory", o.Mem.Expandable))
	}
	if o.Scalable {
		l.flag("scalable", true)
	}
	return l.end()
}

// promises writes reservations and limits, if there are any.
func (p *printer) promises(l *line, cpu, memory *cluster.Allocation) {
	if cpu.Reservation > 0 || memory.Reservation > 0 {
		l.nested("reservation", p.line().text("cpu", unit.Frequency.Whole(cpu.Reservation)).text("memory", unit.Size.Whole(memory.Reservation)))
	}
	if cpu.Limit == cluster.Unlimited && memory.Limit == cluster.Unlimited {
		return
	}
	limit := func(n int64, q *unit.Kind) string {
		if n == cluster.Unlimited {
			return "none"
		}
		return q.Whole(n)
	}
	l.nested("limit", p.line().text("cpu", limit(cpu.Limit, unit.Frequency)).text("memory", limit(memory.Limit, unit.Size)))
}

func (p *printer) vm(c *cluster.Cluster, v *cluster.VM) string {
	l := p.line().text("name", v.Name)
	if v.Host != cluster.Nowhere {
		l.text("host", c.Hosts[v.Host].Name)
	}
	if v.Pool > 0 {
		l.text("pool", c.Pools[v.Pool].Name)
	}
	l.number("vcpus", v.VCPUs).text("memory", unit.Size.Whole(v.Memory)).some("cores-per-socket", v.CoresPerSocket)
	if v.HotAdd {
		l.flag("cpu-hot-add", true)
	}
	if v.Overhead > 0 {
		l.text("overhead", unit.Size.Whole(v.Overhead))
	}
	p.vmShares(l, v)
	p.promises(l, &v.CPU, &v.Mem)
	p.demand(l, &v.Demand)
	if len(v.Networks) > 0 {
		l.list("networks", pick(c.Networks, v.Networks))
	}
	if len(v.Datastores) > 0 {
		l.list("datastores", pick(c.Datastores, v.Datastores))
	}
	if v.Policy != "" {
		l.text("policy", v.Policy)
	}
	if v.Tied {
		l.flag("tied", true)
	} else if v.Pinned {
		l.flag("pinned", true)
	}
	if v.Waiting {
		l.flag("waiting", true)
	}
	return l.end()
}

// vmShares writes nothing for default shares, a level if it gives both amounts, and numbers
// otherwise.
func (p *printer) vmShares(l *line, v *cluster.VM) {
	for _, level := range []cluster.ShareLevel{cluster.ShareNormal, cluster.ShareLow, cluster.ShareHigh} {
		cpu, memory := cluster.VMShares(level, v.VCPUs, v.Memory)
		if v.CPU.Shares != cpu || v.Mem.Shares != memory {
			continue
		}
		if level != cluster.ShareNormal {
			l.text("shares", string(level))
		}
		return
	}
	l.nested("shares", p.line().number("cpu", int(v.CPU.Shares)).number("memory", int(v.Mem.Shares)))
}

func (p *printer) demand(l *line, d *cluster.Demand) {
	if *d == (cluster.Demand{}) {
		return
	}
	in := p.line()
	p.course(in, "cpu", &d.CPU, unit.Frequency)
	p.course(in, "active", &d.Active, unit.Size)
	if d.Consumed > 0 {
		in.text("consumed", unit.Size.Whole(d.Consumed))
	}
	if d.Dirty > 0 {
		in.text("dirty", unit.DirtyRate.Whole(d.Dirty))
	}
	if d.Link > 0 {
		in.text("link", unit.Bandwidth.Whole(d.Link))
	}
	l.nested("demand", in)
}
