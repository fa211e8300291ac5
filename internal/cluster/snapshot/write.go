package snapshot

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"strconv"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/snapshot/entry"
	"plimsoll/internal/cluster/snapshot/unit"
)

// Write writes a cluster as YAML, one line per host, pool, VM and rule, which Read reads as
// the same cluster. The same cluster gives the same bytes. A cluster that Read would refuse,
// such as a name with a star, is an error; something may have been written then.
func Write(w io.Writer, c *cluster.Cluster) error { return write(w, c, false) }

// WriteJSON writes the same content as JSON, which is faster to read.
func WriteJSON(w io.Writer, c *cluster.Cluster) error { return write(w, c, true) }

func write(w io.Writer, c *cluster.Cluster, json bool) error {
	if err := writable(c); err != nil {
		return fmt.Errorf("write cluster %q: %w", c.Name, err)
	}
	p := &printer{w: bufio.NewWriter(w), json: json}
	if json {
		p.w.WriteString("{")
	}
	if c.Name != "" {
		p.single("cluster", p.scalar(c.Name))
	}
	if c.At != "" {
		p.single("at", p.scalar(c.At))
	}
	p.single("holds", p.line().number("hosts", len(c.Hosts)).number("vms", len(c.VMs)).number("pools", len(c.Pools)-1).number("rules", len(c.Rules)).end())
	p.single("settings", p.settings(&c.Settings))
	if len(c.Networks) > 0 {
		p.single("networks", p.texts(c.Networks))
	}
	if len(c.Datastores) > 0 {
		p.single("datastores", p.texts(c.Datastores))
	}
	if c.Pools[0] != defaultRoot() {
		p.single("root", p.pool(c, 0))
	}
	p.section("pools", len(c.Pools)-1, func(i int) string { return p.pool(c, i+1) })
	p.section("hosts", len(c.Hosts), func(i int) string { return p.host(c, &c.Hosts[i]) })
	p.section("vms", len(c.VMs), func(i int) string { return p.vm(c, &c.VMs[i]) })
	p.section("rules", len(c.Rules), func(i int) string { return p.rule(c, &c.Rules[i]) })
	if json {
		p.w.WriteString("\n}\n")
	}
	if err := p.w.Flush(); err != nil {
		return fmt.Errorf("write cluster %q: %w", c.Name, err)
	}
	return nil
}

// writable is the error of a cluster that a file cannot represent.
func writable(c *cluster.Cluster) error {
	if len(c.Hosts) == 0 || len(c.Pools) == 0 {
		return fmt.Errorf("it has no hosts or no root pool")
	}
	if c.At != "" && !isTime(c.At) {
		return fmt.Errorf("its time %q is invalid: must be like 2026-11-21T14:00:00Z", c.At)
	}
	check := func(kind, name string) error {
		if bad := entry.BadName(name); bad != "" {
			return fmt.Errorf("the name %q of a %s %s", name, kind, bad)
		}
		return nil
	}
	for kind, list := range map[string][]string{"network": c.Networks, "datastore": c.Datastores} {
		for _, name := range list {
			if err := check(kind, name); err != nil {
				return err
			}
		}
	}
	for i := range c.VMs {
		v := &c.VMs[i]
		if err := check("VM", v.Name); err != nil {
			return err
		}
		if v.Host < cluster.Nowhere || int(v.Host) >= len(c.Hosts) || v.Pool < 0 || int(v.Pool) >= len(c.Pools) || !within(v.Networks, len(c.Networks)) || !within(v.Datastores, len(c.Datastores)) {
			return fmt.Errorf("VM %s contains an invalid reference", v.Name)
		}
		for _, x := range []float64{v.Demand.CPU.Mean, v.Demand.CPU.M2, v.Demand.Active.Mean, v.Demand.Active.M2} {
			if math.IsNaN(x) || math.IsInf(x, 0) || x < 0 {
				return fmt.Errorf("VM %s has a demand that is not a number", v.Name)
			}
		}
	}
	for i := range c.Hosts {
		if err := check("host", c.Hosts[i].Name); err != nil {
			return err
		}
		if !within(c.Hosts[i].Networks, len(c.Networks)) || !within(c.Hosts[i].Datastores, len(c.Datastores)) {
			return fmt.Errorf("host %s contains an invalid reference", c.Hosts[i].Name)
		}
	}
	for i := range c.Pools {
		if err := check("pool", c.Pools[i].Name); err != nil {
			return err
		}
		if i > 0 && (c.Pools[i].Parent < 0 || int(c.Pools[i].Parent) >= i) {
			return fmt.Errorf("pool %s does not follow its parent", c.Pools[i].Name)
		}
	}
	for i := range c.Rules {
		if err := check("rule", c.Rules[i].Name); err != nil {
			return err
		}
		if !within(c.Rules[i].VMs, len(c.VMs)) || !within(c.Rules[i].Hosts, len(c.Hosts)) {
			return fmt.Errorf("rule %s contains an invalid reference", c.Rules[i].Name)
		}
	}
	return nil
}

func within[T ~int32](list []T, n int) bool {
	for _, i := range list {
		if i < 0 || int(i) >= n {
			return false
		}
	}
	return true
}

func (p *printer) settings(s *cluster.Settings) string {
	l := p.line()
	if s.Model == cluster.ByScore {
		l.text("model", string(s.Model))
	}
	return l.number("level", s.Level).text("headroom", unit.PerMille(s.Headroom)).number("spare-hosts", s.SpareHosts).number("most-moves", s.MostMoves).
		flag("cost-benefit", s.CostBenefit).flag("consumed", s.Consumed).flag("scalable", s.ScalablePool).end()
}

func (p *printer) host(c *cluster.Cluster, h *cluster.Host) string {
	l := p.line().text("name", h.Name)
	if h.State != cluster.Connected {
		l.text("state", string(h.State))
	}
	l.number("sockets", h.Sockets).number("cores", h.CoresPerNode*h.NodesPerSocket).number("nodes", h.NodesPerSocket).number("threads", h.ThreadsPerCore)
	l.some("cache", h.CoresPerCache).number("mhz", int(h.MHz)).text("memory", unit.Size.Whole(h.Memory))
	if h.NodeMemory > 0 {
		l.text("node-memory", unit.Size.Whole(h.NodeMemory))
	}
	if h.Overhead != (cluster.Resources{}) {
		l.nested("overhead", p.line().text("cpu", unit.Frequency.Whole(h.Overhead.CPU)).text("memory", unit.Size.Whole(h.Overhead.Memory)))
	}
	if h.Factor != 1000 {
		l.text("factor", unit.PerMille(h.Factor))
	}
	l.text("nic", unit.Bandwidth.Whole(h.NIC))
	if len(c.Networks) > 0 && len(h.Networks) != len(c.Networks) {
		l.list("networks", pick(c.Networks, h.Networks))
	}
	if len(c.Datastores) > 0 && len(h.Datastores) != len(c.Datastores) {
		l.list("datastores", pick(c.Datastores, h.Datastores))
	}
	return l.some("most-vms", h.MostVMs).end()
}

func (p *printer) rule(c *cluster.Cluster, r *cluster.Rule) string {
	l := p.line().text("name", r.Name).text("kind", string(r.Kind)).flag("must", r.Must)
	if r.Disabled {
		l.flag("disabled", true)
	}
	vms := make([]string, len(r.VMs))
	for i, v := range r.VMs {
		vms[i] = c.VMs[v].Name
	}
	l.list("vms", vms)
	if r.OfHosts() {
		hosts := make([]string, len(r.Hosts))
		for i, h := range r.Hosts {
			hosts[i] = c.Hosts[h].Name
		}
		l.list("hosts", hosts)
	}
	return l.end()
}

func pick(names []string, of []int32) []string {
	out := make([]string, len(of))
	for i, n := range of {
		out[i] = names[n]
	}
	return out
}

// course has a short form for a constant demand.
func (p *printer) course(l *line, key string, c *cluster.DemandStatistics, q *unit.Kind) {
	switch {
	case *c == cluster.DemandStatistics{}:
	case *c == cluster.Steady(c.Mean):
		l.text(key, q.Real(c.Mean))
	default:
		l.nested(key, p.line().number("samples", int(c.Count)).text("mean", q.Real(c.Mean)).text("recent", q.Real(c.Recent)).
			text("most", q.Real(c.Max)).text("spread", q.Real(c.Spread)).raw("squares", strconv.FormatFloat(c.M2, 'g', -1, 64)))
	}
}
