// Package snapshot reads and writes a cluster as a file that can be edited by hand: YAML, or
// JSON of the same structure. docs/cluster/snapshot.md describes it.
//
// Reading is strict. All mistakes are reported at once with their positions, and then no
// cluster is returned.
package snapshot

import (
	"slices"
	"strings"
	"time"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/scenario"
	"plimsoll/internal/cluster/snapshot/entry"
	"plimsoll/internal/document"
)

// Limits of a file: ten times the largest cluster that vCenter manages.
const (
	mostHosts = 20_000
	mostVMs   = 400_000
	mostPools = 50_000
	mostRules = 50_000
)

var topKeys = []string{"cluster", "at", "holds", "settings", "networks", "datastores", "defaults", "templates", "root", "pools", "hosts", "vms", "groups", "rules", "replay"}

// Read reads the cluster of a file. Its name appears in errors, and its extension selects
// JSON. The error lists all mistakes in the order of the file, each a *Mistake in the form
// file:line:column.
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

// clusterFile is the format of snapshots. The size limit is some fifteen times the size of
// 2,000 hosts with 25,000 VMs.
var clusterFile = document.Format{
	What: "cluster", Most: 256 << 20, Example: "hosts: [...]", Begin: "plimsoll cluster generate writes a cluster to start from",
	Alias: "use a template", JSON: true,
}

// reader collects every mistake of a file with its position.
type reader struct {
	in       *document.File
	most     limits
	c        *cluster.Cluster
	scenario *scenario.Scenario // if the file has a replay section
	hosts    entry.Names
	vms      entry.Names
	pools    entry.Names
	networks entry.Names
	stores   entry.Names
	texts    entry.Names // strings of the cluster that are not names
	rulesAt  []document.Node
	sums     map[string]int64
	core     int64 // MHz per core in the size of VMs
}

// limits keep a short file from requesting more memory than there is.
type limits struct{ hosts, vms, pools, rules int }

func newReader(name string, most limits) *reader {
	return &reader{
		in: document.New(name, clusterFile), most: most, c: &cluster.Cluster{Settings: cluster.DefaultSettings()},
		hosts: entry.Names{Kind: "host"}, vms: entry.Names{Kind: "vm"}, pools: entry.Names{Kind: "pool"},
		networks: entry.Names{Kind: "network"}, stores: entry.Names{Kind: "datastore"}, sums: map[string]int64{},
	}
}

func (r *reader) cluster(root *document.Node) {
	r.in.Table(root, "a cluster", topKeys)
	if n := root.Find("cluster"); n != nil {
		name, _ := entry.ReadName(r.in, n, "cluster")
		r.c.Name = strings.Clone(name)
	}
	if n := root.Find("at"); n != nil {
		if r.c.At = strings.Clone(n.Text); !isTime(n.Text) {
			r.in.Complain(n, "at must be the time of the snapshot, such as 2026-11-21T14:00:00Z, not %s", n.Says())
		}
	}
	r.settings(root)
	r.networks.Declare(r.in, root.Find("networks"))
	r.stores.Declare(r.in, root.Find("datastores"))
	r.allHosts(root)
	r.allPools(root)
	r.allVMs(root)
	if n := root.Find("groups"); n != nil && r.in.Table(n, "groups", []string{"hosts", "vms"}) {
		r.hosts.Group(r.in, n.Find("hosts"))
		r.vms.Group(r.in, n.Find("vms"))
	}
	r.allRules(root.Find("rules"))
	r.holds(root)
	r.c.Networks, r.c.Datastores = r.networks.List, r.stores.List
	if !counted(root) {
		r.contradictions()
	}
	r.replay(root)
}

// counted reports whether the file has its numbers of entries, as plimsoll writes it. Clusters that run may have rules that contradict
// each other and VMs that are larger than any host: the doctor warns of both.
func counted(root *document.Node) bool { return root.Find("holds") != nil }

// isTime reports whether a text is a time in the format of snapshots.
func isTime(text string) bool {
	_, err := time.Parse(time.RFC3339, text)
	return err == nil
}

// kind reads the defaults and templates of hosts or VMs.
func (r *reader) kind(name string, root *document.Node, known []string) entry.Kind {
	k := entry.Kind{Name: name, Keys: known}
	own := slices.DeleteFunc(slices.Clone(known), func(k string) bool { return k == "name" || k == "like" || k == "count" })
	section := func(part string) *document.Node {
		n := root.Find(part)
		if n == nil || !r.in.Table(n, part, []string{"hosts", "vms"}) {
			return nil
		}
		return n.Find(name + "s")
	}
	if d := section("defaults"); d != nil && r.in.Table(d, "defaults of "+name+"s", own) {
		k.Defaults = d
	}
	t := section("templates")
	if t == nil || !r.in.Table(t, "templates of "+name+"s", nil) {
		return k
	}
	k.Templates = map[string]*document.Node{}
	for i := 0; i+1 < len(t.Kids); i += 2 {
		like, fine := entry.ReadName(r.in, &t.Kids[i], "template")
		if !fine {
			continue
		}
		if _, taken := k.Templates[like]; taken {
			r.in.Complain(&t.Kids[i], "the template %q appears twice", like)
		}
		if r.in.Table(&t.Kids[i+1], "template "+like, own) {
			k.Templates[like] = &t.Kids[i+1]
		}
	}
	return k
}

var settingKeys = []string{"model", "level", "headroom", "spare-hosts", "most-moves", "cost-benefit", "consumed", "scalable"}

func (r *reader) settings(root *document.Node) {
	top := entry.Of(r.in, "cluster", "", root)
	f, given := top.Inner("settings", settingKeys)
	if !given {
		return
	}
	d := cluster.DefaultSettings()
	r.c.Settings = cluster.Settings{
		Model:        cluster.Model(f.Word("model", string(d.Model), []string{string(cluster.ByDeviation), string(cluster.ByScore)})),
		Level:        f.Number("level", int64(d.Level), 1, 5),
		Headroom:     f.Share("headroom", int64(d.Headroom), 1000),
		SpareHosts:   f.Number("spare-hosts", 0, 0, mostHosts),
		MostMoves:    f.Number("most-moves", 0, 0, mostVMs),
		CostBenefit:  f.Flag("cost-benefit", d.CostBenefit),
		Consumed:     f.Flag("consumed", false),
		ScalablePool: f.Flag("scalable", false),
	}
}

// holds compares the declared numbers of a file with its content, to detect a file truncated
// between two lines.
func (r *reader) holds(root *document.Node) {
	top := entry.Of(r.in, "cluster", "", root)
	f, given := top.Inner("holds", []string{"hosts", "vms", "pools", "rules"})
	if !given {
		return
	}
	for _, part := range []struct {
		key string
		has int
	}{{"hosts", len(r.c.Hosts)}, {"vms", len(r.c.VMs)}, {"pools", len(r.c.Pools) - 1}, {"rules", len(r.c.Rules)}} {
		said := f.Number(part.key, int64(part.has), 0, mostVMs)
		if said != part.has {
			r.in.Complain(f.Get(part.key), "the file declares %d %s, but contains %d: it may be truncated", said, part.key, part.has)
		}
	}
}

// mostTotal keeps every sum over a cluster far from overflowing.
const mostTotal = 1 << 60

// add adds an amount to a sum over the cluster, count times, and reports a sum that is too
// large.
func (r *reader) add(what string, n *document.Node, amount int64, count int) {
	if amount <= 0 || count <= 0 {
		return
	}
	if sum := r.sums[what]; amount > (mostTotal-sum)/int64(count) {
		r.in.Complain(n, "%s would exceed the maximum (1 EiB, or as many MHz)", what)
		return
	}
	r.sums[what] += amount * int64(count)
}
