package snapshot

import (
	"cmp"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/scenario"
	"plimsoll/internal/document"
)

var (
	replayKeys  = []string{"what", "length", "start", "seed", "demand", "events"}
	patternKeys = []string{"vms", "from", "to", "every", "for", "shift", "cpu", "active", "daily", "peak", "noise", "common"}
	eventKeys   = []string{"at", "hosts", "state", "arrive", "depart", "enable", "disable"}
)

var clock = quantity{"a time", "90m", []unit{{"d", 86_400}, {"h", 3600}, {"min", 60}, {"m", 60}, {"s", 1}}, 0}

// What a scenario may hold: a month, as many steps of VMs as fit into memory, and
// more patterns and events than anyone writes.
const (
	longest      = 31 * 86_400
	mostChance   = 50_000_000
	mostPatterns = 10_000
	mostEvents   = 100_000
)

// ReadScenario is the cluster of a file with its part named replay, which says what
// happens to it.
func ReadScenario(name string, text []byte) (*scenario.Scenario, error) {
	r := newReader(name, limits{mostHosts, mostVMs, mostPools, mostRules})
	root := r.in.Read(text)
	if root != nil {
		r.cluster(root)
		if r.scenario == nil && r.in.Count() == 0 {
			r.in.Complain(nil, "the file says nothing of what happens to the cluster: it has no key replay")
		}
	}
	if err := r.in.Err(); err != nil {
		return nil, err
	}
	r.scenario.Name = strings.TrimSuffix(filepath.Base(name), filepath.Ext(name))
	return r.scenario, nil
}

func (r *reader) replay(root *document.Node) {
	top := fields{r: r, kind: "cluster", at: root, layers: [3]*document.Node{root}}
	f, given := top.inner("replay", replayKeys)
	if !given {
		return
	}
	s := &scenario.Scenario{Cluster: r.c, Length: f.quantity("length", &clock, required)}
	k := scenario.Clock{Start: f.hour("start", 0), Length: s.Length, Seed: uint64(f.number("seed", span{1, 0, mostAmount}))}
	if n := f.get("what"); n != nil {
		s.What = f.scalar(n, "what")
	}
	if s.Length < scenario.Step || s.Length > longest {
		f.complain(f.at, "length is from %d s to %d days", scenario.Step, longest/86_400)
		return
	}
	patterns := f.patterns(s.Length)
	s.Events = f.events(s.Length)
	if r.in.Count() == 0 {
		s.Demand = scenario.NewPatterned(r.c, k, patterns)
	}
	r.scenario = s
}

// hour reads a time of the day, in seconds after midnight.
func (f *fields) hour(key string, otherwise int64) int64 {
	n := f.get(key)
	if n == nil {
		return otherwise
	}
	text := f.scalar(n, key)
	hours, minutes, _ := strings.Cut(text, ":")
	h, err := strconv.Atoi(hours)
	m, bad := strconv.Atoi(minutes)
	if err != nil || bad != nil || h < 0 || h > 23 || m < 0 || m > 59 || len(minutes) != 2 {
		f.complain(n, "%s is %s, which is not a time of the day, such as 14:30", key, document.Quote(text))
		return otherwise
	}
	return int64(h)*3600 + int64(m)*60
}

func (f *fields) patterns(length int64) (out []scenario.Pattern) {
	items := f.r.in.Items(f.get("demand"), "demand")
	random := int64(0)
	for i := range items {
		if len(out) == mostPatterns {
			f.complain(&items[i], "a scenario has at most %d patterns of demand", mostPatterns)
			return out
		}
		in := fields{r: f.r, kind: "demand", at: &items[i], layers: [3]*document.Node{&items[i]}}
		f.r.in.Table(in.at, "demand", patternKeys)
		p := in.pattern(length)
		if p.Noise > 0 {
			if random += length / scenario.Step * int64(len(p.VMs)); random > mostChance {
				in.complain(in.get("noise"), "chance for so many VMs over so long does not fit into memory: use a shorter length")
				return out
			}
		}
		out = append(out, p)
	}
	return out
}

func (f *fields) pattern(length int64) scenario.Pattern {
	p := scenario.Pattern{
		From: f.quantity("from", &clock, 0), To: f.quantity("to", &clock, length), Every: f.quantity("every", &clock, 0), For: f.quantity("for", &clock, 0),
		Shift: f.quantity("shift", &clock, 0), CPU: f.line("cpu", &frequency), Active: f.line("active", &size),
		Daily: f.portion("daily", 0, 1000), Peak: f.hour("peak", 14*3600), Noise: f.portion("noise", 0, 2000), Common: f.portion("common", 0, 2000),
	}
	for _, v := range f.pick("vms", &f.r.vms, "vm") {
		p.VMs = append(p.VMs, cluster.VMID(v))
	}
	switch {
	case f.get("vms") == nil:
		f.complain(f.at, "vms is missing: the VMs that it is about")
	case p.To <= p.From:
		f.complain(f.get("to"), "it ends before it begins")
	case p.Every > 0 && (p.For <= 0 || p.For >= p.Every):
		f.complain(f.get("every"), "for says how much of each time it lasts: more than nothing and less than all")
	case p.Every == 0 && (p.For > 0 || p.Shift > 0):
		f.complain(f.at, "for and shift have a meaning with every alone")
	case max(p.From, p.To, p.Every, p.Shift) > longest:
		f.complain(f.at, "a time is longer than %d days", longest/86_400)
	}
	return p
}

// line reads one amount, or two that a demand goes between.
func (f *fields) line(key string, q *quantity) (l scenario.Line) {
	n := f.get(key)
	if n == nil {
		return l
	}
	l.Given = true
	if n.Kind == document.Mapping {
		f.r.in.Table(n, f.label()+": "+key, []string{"from", "to"})
		from, to := n.Find("from"), n.Find("to")
		if from == nil || to == nil {
			f.complain(n, "%s goes from one amount to another: {from: 10%%, to: 90%%}", key)
			return l
		}
		l.From, l.Share[0] = f.part(from, key, q)
		l.To, l.Share[1] = f.part(to, key, q)
		return l
	}
	l.From, l.Share[0] = f.part(n, key, q)
	l.To, l.Share[1] = l.From, l.Share[0]
	return l
}

// part reads an amount, or a share of a VM's size in per mille.
func (f *fields) part(n *document.Node, key string, q *quantity) (x int64, ofSize bool) {
	if strings.HasSuffix(strings.TrimSpace(n.Text), "%") {
		return f.amount(n, key, &share, 0), true
	}
	return f.amount(n, key, q, 0), false
}

func (f *fields) events(length int64) (out []scenario.Event) {
	items := f.r.in.Items(f.get("events"), "events")
	for i := range items {
		if len(out) == mostEvents {
			f.complain(&items[i], "a scenario has at most %d events", mostEvents)
			break
		}
		in := fields{r: f.r, kind: "event", at: &items[i], layers: [3]*document.Node{&items[i]}}
		f.r.in.Table(in.at, "event", eventKeys)
		e, fine := in.event()
		if e.At > length {
			in.complain(in.get("at"), "the scenario ends before it")
		}
		if fine {
			out = append(out, e)
		}
	}
	slices.SortStableFunc(out, func(a, b scenario.Event) int { return cmp.Compare(a.At, b.At) })
	return out
}

func (f *fields) event() (e scenario.Event, fine bool) {
	e.At = f.quantity("at", &clock, required)
	said := 0
	for _, part := range []struct {
		key  string
		kind scenario.EventKind
	}{{"hosts", scenario.HostEvent}, {"arrive", scenario.ArriveEvent}, {"depart", scenario.DepartEvent}, {"enable", scenario.RuleEvent}, {"disable", scenario.RuleEvent}} {
		if f.get(part.key) == nil {
			continue
		}
		said++
		e.Kind = part.kind
		switch part.kind {
		case scenario.HostEvent:
			for _, h := range f.pick("hosts", &f.r.hosts, "host") {
				e.Hosts = append(e.Hosts, cluster.HostID(h))
			}
			e.State = cluster.HostState(f.word("state", "", hostStates))
			if e.State == "" {
				f.complain(f.at, "state is missing: what the hosts are from then on")
			}
		case scenario.RuleEvent:
			e.Enable = part.key == "enable"
			e.Rules = f.rules(part.key)
		default:
			for _, v := range f.pick(part.key, &f.r.vms, "vm") {
				if part.kind == scenario.ArriveEvent && f.r.c.VMs[v].Host != cluster.Nowhere {
					f.complain(f.get(part.key), "%s has a host from the beginning: leave its host out", f.r.c.VMs[v].Name)
				}
				e.VMs = append(e.VMs, cluster.VMID(v))
			}
		}
	}
	if said != 1 {
		f.complain(f.at, "an event says one of hosts, arrive, depart, enable and disable")
	}
	return e, said == 1
}

func (f *fields) rules(key string) (out []cluster.RuleID) {
	var known names
	for i := range f.r.c.Rules {
		known.add(f.r.c.Rules[i].Name, 0)
	}
	for _, id := range f.indexes(key, &known, "rule") {
		out = append(out, cluster.RuleID(id))
	}
	return out
}
