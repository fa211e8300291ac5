// Package snapshot reads and writes a cluster as a file that a person can write by hand:
// YAML, or JSON of the same structure. docs/cluster/snapshot.md describes it.
//
// Reading is strict. All that is wrong is reported at once, each mistake with its place
// in the file, and there is no cluster then: nothing is half applied.
package snapshot

import (
	"slices"
	"strings"
	"time"

	"plimsoll/internal/cluster"
	"plimsoll/internal/document"
)

// Most of what a file may hold: ten times the largest cluster that vCenter manages.
const (
	mostHosts = 20_000
	mostVMs   = 400_000
	mostPools = 50_000
	mostRules = 50_000
)

var topKeys = []string{"cluster", "at", "holds", "settings", "networks", "datastores", "defaults", "templates", "root", "pools", "hosts", "vms", "groups", "rules", "replay"}

// Read is the cluster of a file, whose name is used in complaints and tells JSON by its
// ending. The error lists all mistakes in the order of the file, each a *Mistake that
// says file:line:column.
func Read(name string, text []byte) (*cluster.Cluster, error) {
	return read(name, text, limits{mostHosts, mostVMs, mostPools, mostRules})
}

func read(name string, text []byte, most limits) (*cluster.Cluster, error) {
	r := newReader(name, most)
	if root := r.in.Read(text); root != nil {
		r.cluster(root)
	}
	if err := r.in.Err(); err != nil {
		return nil, err
	}
	return r.c, nil
}

// clusterFile is the format of snapshots. The largest is some fifteen times what 2,000 hosts and 25,000 VMs need.
var clusterFile = document.Format{
	What: "cluster", Most: 256 << 20, Example: "hosts: [...]", Begin: "plimsoll cluster generate writes a cluster to start from",
	Alias: "use a template", JSON: true,
}

func newReader(name string, most limits) *reader {
	return &reader{
		in: document.New(name, clusterFile), most: most, sums: map[string]int64{}, defaults: map[string]*document.Node{},
		templates: map[string]map[string]*document.Node{}, groups: map[string]map[string][]int32{"host": {}, "vm": {}},
		c: &cluster.Cluster{Settings: cluster.DefaultSettings()},
	}
}

func (r *reader) cluster(root *document.Node) {
	r.in.Table(root, "a cluster", topKeys)
	if n := root.Find("cluster"); n != nil {
		name, _ := r.name(n, "cluster")
		r.c.Name = strings.Clone(name)
	}
	if n := root.Find("at"); n != nil {
		if r.c.At = strings.Clone(n.Text); !isTime(n.Text) {
			r.in.Complain(n, "at is when the cluster was seen, such as 2026-11-21T14:00:00Z, not %s", n.Says())
		}
	}
	r.settings(root)
	r.declared(root.Find("networks"), "network", &r.networks)
	r.declared(root.Find("datastores"), "datastore", &r.stores)
	r.patterns(root)
	r.allHosts(root)
	r.allPools(root)
	r.allVMs(root.Find("vms"))
	if n := root.Find("groups"); n != nil && r.in.Table(n, "groups", []string{"hosts", "vms"}) {
		r.group(n.Find("hosts"), "host", &r.hosts)
		r.group(n.Find("vms"), "vm", &r.vms)
	}
	r.allRules(root.Find("rules"))
	r.holds(root)
	r.c.Networks, r.c.Datastores = r.networks.list, r.stores.list
	r.contradictions()
	r.replay(root)
}

// isTime says whether a text is a time as a snapshot writes it.
func isTime(text string) bool {
	_, err := time.Parse(time.RFC3339, text)
	return err == nil
}

// patterns reads the defaults and templates of hosts and VMs.
func (r *reader) patterns(root *document.Node) {
	for kind, known := range map[string][]string{"host": hostKeys, "vm": vmKeys} {
		r.templates[kind] = map[string]*document.Node{}
		own := slices.DeleteFunc(slices.Clone(known), func(k string) bool { return k == "name" || k == "like" || k == "count" })
		if n := root.Find("defaults"); n != nil && r.in.Table(n, "defaults", []string{"hosts", "vms"}) {
			if d := n.Find(kind + "s"); d != nil && r.in.Table(d, "defaults of "+kind+"s", own) {
				r.defaults[kind] = d
			}
		}
		n := root.Find("templates")
		if n == nil || !r.in.Table(n, "templates", []string{"hosts", "vms"}) {
			continue
		}
		t := n.Find(kind + "s")
		if t == nil || !r.in.Table(t, "templates of "+kind+"s", nil) {
			continue
		}
		for i := 0; i+1 < len(t.Kids); i += 2 {
			name, fine := r.name(&t.Kids[i], "template")
			if !fine {
				continue
			}
			if _, taken := r.templates[kind][name]; taken {
				r.in.Complain(&t.Kids[i], "the template %q is there twice", name)
			}
			if r.in.Table(&t.Kids[i+1], "template "+name, own) {
				r.templates[kind][name] = &t.Kids[i+1]
			}
		}
	}
}

// declared reads the names of networks or datastores. Where they are not listed, those
// of the hosts are all there are.
func (r *reader) declared(n *document.Node, what string, s *names) {
	s.index = map[string]int32{}
	if n == nil {
		s.open = true
		return
	}
	if n.Kind != document.List {
		r.in.Complain(n, "%ss is a list, such as [a, b], not %s", what, n.Says())
		return
	}
	all := n.All()
	for i := range all {
		name, fine := r.name(&all[i], what)
		if !fine {
			continue
		}
		if at, fresh := s.add(name, all[i].Line); !fresh {
			r.in.Complain(&all[i], "the %s %q is there twice; it is in line %d", what, name, s.lines[at])
		}
	}
}

var settingKeys = []string{"model", "level", "headroom", "spare-hosts", "most-moves", "cost-benefit", "consumed", "scalable"}

func (r *reader) settings(root *document.Node) {
	top := fields{r: r, kind: "cluster", at: root, layers: [3]*document.Node{root}}
	f, given := top.inner("settings", settingKeys)
	if !given {
		return
	}
	d := cluster.DefaultSettings()
	r.c.Settings = cluster.Settings{
		Model:        cluster.Model(f.word("model", string(d.Model), []string{string(cluster.ByDeviation), string(cluster.ByScore)})),
		Level:        f.number("level", span{int64(d.Level), 1, 5}),
		Headroom:     f.portion("headroom", int64(d.Headroom), 1000),
		SpareHosts:   f.number("spare-hosts", span{0, 0, mostHosts}),
		MostMoves:    f.number("most-moves", span{0, 0, mostVMs}),
		CostBenefit:  f.flag("cost-benefit", d.CostBenefit),
		Consumed:     f.flag("consumed", false),
		ScalablePool: f.flag("scalable", false),
	}
}

// holds compares what a file says to hold with what it holds, which tells a file that
// was cut off between two lines.
func (r *reader) holds(root *document.Node) {
	top := fields{r: r, kind: "cluster", at: root, layers: [3]*document.Node{root}}
	f, given := top.inner("holds", []string{"hosts", "vms", "pools", "rules"})
	if !given {
		return
	}
	for _, part := range []struct {
		key string
		has int
	}{{"hosts", len(r.c.Hosts)}, {"vms", len(r.c.VMs)}, {"pools", len(r.c.Pools) - 1}, {"rules", len(r.c.Rules)}} {
		said := f.number(part.key, span{int64(part.has), 0, mostVMs})
		if said != part.has {
			r.in.Complain(f.get(part.key), "the file says that it holds %d %s, and %d stand in it: is it cut off?", said, part.key, part.has)
		}
	}
}

// mostTotal keeps every sum over a cluster far from overflowing.
const mostTotal = 1 << 60

// add sums an amount up over the cluster, count times, and complains where the sum
// grows too large.
func (r *reader) add(what string, n *document.Node, amount int64, count int) {
	if amount <= 0 || count <= 0 {
		return
	}
	if sum := r.sums[what]; amount > (mostTotal-sum)/int64(count) {
		r.in.Complain(n, "with this, %s would be more than can be counted (1 EiB, or as many MHz)", what)
		return
	}
	r.sums[what] += amount * int64(count)
}

// counted is how many items alike an entry stands for.
func (f *fields) counted(most int) (count int, given bool) {
	n := f.at.Find("count")
	if n == nil {
		return 1, false
	}
	own := fields{r: f.r, kind: f.kind, name: f.name, at: f.at, layers: [3]*document.Node{f.at}}
	return own.number("count", span{1, 1, int64(max(1, most))}), true
}
