package snapshot

import (
	"cmp"
	"path/filepath"
	"slices"
	"strings"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/scenario"
	"plimsoll/internal/cluster/snapshot/entry"
	"plimsoll/internal/cluster/snapshot/unit"
	"plimsoll/internal/document"
)

var (
	replayKeys  = []string{"what", "length", "start", "seed", "demand", "events"}
	patternKeys = []string{"vms", "from", "to", "every", "for", "shift", "cpu", "active", "daily", "peak", "noise", "common"}
	eventKeys   = []string{"at", "hosts", "state", "arrive", "depart", "enable", "disable"}
)

// Limits of a scenario: a month, as many steps of VMs as fit into memory, and generous numbers
// of patterns and events.
const (
	longest      = 31 * 86_400
	mostChance   = 50_000_000
	mostPatterns = 10_000
	mostEvents   = 100_000
)

// ReadScenario reads a cluster with its events, the section replay.
func ReadScenario(name string, text []byte) (*scenario.Scenario, error) {
	r := newReader(name, limits{mostHosts, mostVMs, mostPools, mostRules})
	root := r.in.Read(text)
	if root != nil {
		r.cluster(root)
		if r.scenario == nil && r.in.Count() == 0 {
			r.in.Complain(nil, "the file has no scenario: the key replay is missing")
		}
	}
	if err := r.in.Err(); err != nil {
		return nil, err
	}
	r.scenario.Name = strings.TrimSuffix(filepath.Base(name), filepath.Ext(name))
	return r.scenario, nil
}

// ReadBoth reads a cluster, and its scenario, nil without one.
func ReadBoth(name string, text []byte) (*cluster.Cluster, *scenario.Scenario, error) {
	r := newReader(name, limits{mostHosts, mostVMs, mostPools, mostRules})
	if root := r.in.Read(text); root != nil {
		r.cluster(root)
	}
	if err := r.in.Err(); err != nil {
		return nil, nil, err
	}
	return r.c, r.scenario, nil
}

func (r *reader) replay(root *document.Node) {
	top := entry.Of(r.in, "cluster", "", root)
	f, given := top.Inner("replay", replayKeys)
	if !given {
		return
	}
	s := &scenario.Scenario{Cluster: r.c, Length: f.Quantity("length", unit.Time, entry.Required)}
	k := scenario.Clock{Start: f.Hour("start", 0), Length: s.Length, Seed: uint64(f.Number("seed", 1, 0, unit.Most))}
	if n := f.Get("what"); n != nil {
		s.What = f.Text(n, "what")
	}
	if s.Length < scenario.Step || s.Length > longest {
		f.Complain(f.At, "length must be from %d s to %d days", scenario.Step, longest/86_400)
		return
	}
	patterns := r.demands(&f, s.Length)
	s.Events = r.events(&f, s.Length)
	if r.in.Count() == 0 {
		s.Demand = scenario.NewPatterned(r.c, k, patterns)
	}
	r.scenario = s
}

func (r *reader) demands(f *entry.Entry, length int64) (out []scenario.Pattern) {
	items := r.in.Items(f.Get("demand"), "demand")
	random := int64(0)
	for i := range items {
		if len(out) == mostPatterns {
			f.Complain(&items[i], "a scenario has at most %d patterns of demand", mostPatterns)
			return out
		}
		in := entry.Of(r.in, "demand", "", &items[i])
		r.in.Table(in.At, "demand", patternKeys)
		p := r.pattern(&in, length)
		if p.Noise > 0 {
			if random += length / scenario.Step * int64(len(p.VMs)); random > mostChance {
				in.Complain(in.Get("noise"), "the noise of so many VMs over this length does not fit into memory: use a shorter length")
				return out
			}
		}
		out = append(out, p)
	}
	return out
}

func (r *reader) pattern(f *entry.Entry, length int64) scenario.Pattern {
	p := scenario.Pattern{
		From: f.Quantity("from", unit.Time, 0), To: f.Quantity("to", unit.Time, length), Every: f.Quantity("every", unit.Time, 0), For: f.Quantity("for", unit.Time, 0),
		Shift: f.Quantity("shift", unit.Time, 0), CPU: ramp(f, "cpu", unit.Frequency), Active: ramp(f, "active", unit.Size),
		Daily: f.Share("daily", 0, 1000), Peak: f.Hour("peak", 14*3600), Noise: f.Share("noise", 0, 2000), Common: f.Share("common", 0, 2000),
	}
	for _, v := range r.vms.Pick(f, "vms") {
		p.VMs = append(p.VMs, cluster.VMID(v))
	}
	switch {
	case f.Get("vms") == nil:
		f.Complain(f.At, "vms is missing: the VMs of the pattern")
	case p.To <= p.From:
		f.Complain(f.Get("to"), "it ends before it begins")
	case p.Every > 0 && (p.For <= 0 || p.For >= p.Every):
		f.Complain(f.Get("every"), "for must be above 0 and below every")
	case p.Every == 0 && (p.For > 0 || p.Shift > 0):
		f.Complain(f.At, "for and shift require every")
	case max(p.From, p.To, p.Every, p.Shift) > longest:
		f.Complain(f.At, "a time is longer than %d days", longest/86_400)
	}
	return p
}

// ramp reads one amount, or the two ends of a linear change.
func ramp(f *entry.Entry, key string, q *unit.Kind) (l scenario.Line) {
	n := f.Get(key)
	if n == nil {
		return l
	}
	l.Given = true
	if n.Kind == document.Mapping {
		f.File.Table(n, f.Label()+": "+key, []string{"from", "to"})
		from, to := n.Find("from"), n.Find("to")
		if from == nil || to == nil {
			f.Complain(n, "%s needs from and to, such as {from: 10%%, to: 90%%}", key)
			return l
		}
		l.From, l.Share[0] = part(f, from, key, q)
		l.To, l.Share[1] = part(f, to, key, q)
		return l
	}
	l.From, l.Share[0] = part(f, n, key, q)
	l.To, l.Share[1] = l.From, l.Share[0]
	return l
}

// part reads an amount, or a share of a VM's size in per mille.
func part(f *entry.Entry, n *document.Node, key string, q *unit.Kind) (x int64, ofSize bool) {
	if strings.HasSuffix(strings.TrimSpace(n.Text), "%") {
		return f.Amount(n, key, unit.Share, 0), true
	}
	return f.Amount(n, key, q, 0), false
}

func (r *reader) events(f *entry.Entry, length int64) (out []scenario.Event) {
	items := r.in.Items(f.Get("events"), "events")
	for i := range items {
		if len(out) == mostEvents {
			f.Complain(&items[i], "a scenario has at most %d events", mostEvents)
			break
		}
		in := entry.Of(r.in, "event", "", &items[i])
		r.in.Table(in.At, "event", eventKeys)
		e, fine := r.event(&in)
		if e.At > length {
			in.Complain(in.Get("at"), "it is after the end of the scenario")
		}
		if fine {
			out = append(out, e)
		}
	}
	slices.SortStableFunc(out, func(a, b scenario.Event) int { return cmp.Compare(a.At, b.At) })
	return out
}

func (r *reader) event(f *entry.Entry) (e scenario.Event, fine bool) {
	e.At = f.Quantity("at", unit.Time, entry.Required)
	said := 0
	for _, part := range []struct {
		key  string
		kind scenario.EventKind
	}{{"hosts", scenario.HostEvent}, {"arrive", scenario.ArriveEvent}, {"depart", scenario.DepartEvent}, {"enable", scenario.RuleEvent}, {"disable", scenario.RuleEvent}} {
		if f.Get(part.key) == nil {
			continue
		}
		said++
		e.Kind = part.kind
		switch part.kind {
		case scenario.HostEvent:
			for _, h := range r.hosts.Pick(f, "hosts") {
				e.Hosts = append(e.Hosts, cluster.HostID(h))
			}
			e.State = cluster.HostState(f.Word("state", "", hostStates))
			if e.State == "" {
				f.Complain(f.At, "state is missing: the new state of the hosts")
			}
		case scenario.RuleEvent:
			e.Enable = part.key == "enable"
			e.Rules = r.namedRules(f, part.key)
		default:
			for _, v := range r.vms.Pick(f, part.key) {
				if part.kind == scenario.ArriveEvent && r.c.VMs[v].Host != cluster.Nowhere {
					f.Complain(f.Get(part.key), "%s has a host from the beginning: omit its host", r.c.VMs[v].Name)
				}
				e.VMs = append(e.VMs, cluster.VMID(v))
			}
		}
	}
	if said != 1 {
		f.Complain(f.At, "an event must have exactly one of hosts, arrive, depart, enable and disable")
	}
	return e, said == 1
}

func (r *reader) namedRules(f *entry.Entry, key string) (out []cluster.RuleID) {
	known := entry.Names{Kind: "rule"}
	for i := range r.c.Rules {
		known.Add(r.c.Rules[i].Name, 0)
	}
	for _, id := range known.Indexes(f, key) {
		out = append(out, cluster.RuleID(id))
	}
	return out
}
