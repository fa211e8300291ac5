// Package pools reports the entitlements of resource pools and VMs, and the operations that
// update hosts' copies of the pools after a change.
package pools

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/divvy"
	"plimsoll/internal/cluster/doctor/words"
	"plimsoll/internal/column"
)

// Overview is the entitlement of pools and VMs when the cluster's capacity is divided by
// shares, reservations and limits.
type Overview struct {
	Cluster  string   `json:"cluster"`
	Capacity Amounts  `json:"capacity"`
	Pools    []View   `json:"pools"`
	VMs      []VMView `json:"vms,omitempty"`
	Short    []string `json:"short,omitempty"` // pools whose entitlement is below their children's reservations
}

// Amounts are MHz and bytes.
type Amounts struct {
	CPU    int64 `json:"cpu"`
	Memory int64 `json:"memory"`
}

// View is one pool. Depth is the number of pools above it.
type View struct {
	Name     string  `json:"name"`
	Depth    int     `json:"depth"`
	VMs      int     `json:"vms"` // running, directly in it
	Shares   int64   `json:"shares"`
	Demand   Amounts `json:"demand"`
	Entitled Amounts `json:"entitled"`
}

// VMView is one running VM.
type VMView struct {
	Name     string  `json:"name"`
	Host     string  `json:"host"`
	Pool     string  `json:"pool"`
	Demand   Amounts `json:"demand"`
	Entitled Amounts `json:"entitled"`
}

// Show divides the capacity of the running hosts.
func Show(c *cluster.Cluster, vms bool) *Overview {
	x := cluster.NewIndex(c)
	all := x.Total(c)
	e := divvy.Divide(c, x, all, nil)
	o := &Overview{Cluster: c.Name, Capacity: Amounts(all), Pools: Views(c, e)}
	for _, s := range e.Overcommitted() {
		o.Short = append(o.Short, fmt.Sprintf("pool %s: its children reserve %s, its entitlement is %s", c.Pools[s.Pool].Name, words.Amount(s.Resource, s.Need), words.Amount(s.Resource, s.Have)))
	}
	for v := range c.VMs {
		vm := &c.VMs[v]
		if vms && vm.Host != cluster.Nowhere {
			id := cluster.VMID(v)
			o.VMs = append(o.VMs, VMView{vm.Name, c.Hosts[vm.Host].Name, c.Pools[vm.Pool].Name, Amounts(x.Demand(id)), Amounts(e.VM(id))})
		}
	}
	return o
}

// Views are all pools, each followed by its children.
func Views(c *cluster.Cluster, e *divvy.Entitlements) (out []View) {
	direct, depth := make([]int, len(c.Pools)), make([]int, len(c.Pools))
	below := map[cluster.PoolID][]cluster.PoolID{}
	for v := range c.VMs {
		if c.VMs[v].Host != cluster.Nowhere {
			direct[c.VMs[v].Pool]++
		}
	}
	for p := range c.Pools {
		parent := c.Pools[p].Parent
		if parent != cluster.Nowhere {
			depth[p] = depth[parent] + 1
		}
		below[parent] = append(below[parent], cluster.PoolID(p))
	}
	for rest := slices.Clone(below[cluster.Nowhere]); len(rest) > 0; {
		id := rest[0]
		pool := &c.Pools[id]
		rest = append(slices.Clone(below[id]), rest[1:]...)
		out = append(out, View{pool.Name, depth[id], direct[id], pool.CPU.Shares, Amounts(e.Demand(id)), Amounts(e.Pool(id))})
	}
	return out
}

// Table writes a table of pools, each line after an indent.
func Table(b *strings.Builder, indent string, pools []View) {
	t := column.NewTable(b)
	fmt.Fprintf(t, "%spool\tVMs\tshares\tCPU demand\tentitled\tmemory demand\tentitled\n", indent)
	for _, p := range pools {
		fmt.Fprintf(t, "%s%s%s\t%d\t%d\t%d MHz\t%d MHz\t%s\t%s\n", indent, strings.Repeat("  ", p.Depth), p.Name, p.VMs, p.Shares,
			p.Demand.CPU, p.Entitled.CPU, cluster.MiB(p.Demand.Memory), cluster.MiB(p.Entitled.Memory))
	}
	t.Flush() //nolint:errcheck // a builder takes everything
}

// Text writes the overview for an operator.
func (o *Overview) Text(w io.Writer) error {
	b := &strings.Builder{}
	fmt.Fprintf(b, "%s: %d MHz and %s to share\n\n", o.Cluster, o.Capacity.CPU, cluster.MiB(o.Capacity.Memory))
	Table(b, "", o.Pools)
	if len(o.VMs) > 0 {
		t := column.NewTable(b)
		b.WriteString("\n")
		fmt.Fprintln(t, "VM\thost\tpool\tCPU demand\tentitled\tmemory demand\tentitled")
		for _, v := range o.VMs {
			fmt.Fprintf(t, "%s\t%s\t%s\t%d MHz\t%d MHz\t%s\t%s\n", v.Name, v.Host, v.Pool, v.Demand.CPU, v.Entitled.CPU, cluster.MiB(v.Demand.Memory), cluster.MiB(v.Entitled.Memory))
		}
		t.Flush() //nolint:errcheck // a builder takes everything
	}
	words.Section(b, "Reservations above the entitlement", o.Short)
	_, err := io.WriteString(w, b.String())
	return err
}
