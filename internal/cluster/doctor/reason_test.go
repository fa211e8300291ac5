package doctor

import (
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/balance/advice"
	"plimsoll/internal/cluster/clustertest"
)

// troubled is a cluster with many problems: hosts to empty, violated rules, licences, pinned
// VMs, overcommitted reservations and full hosts.
func troubled(seed uint64) *cluster.Cluster {
	r := rand.New(rand.NewPCG(seed, 7))
	c := clustertest.Random(clustertest.Spec{Seed: seed, Hosts: 3 + r.IntN(5), VMs: 12 + r.IntN(30), Rules: r.IntN(9), Pools: r.IntN(4), Load: .3 + r.Float64(), Placed: r.IntN(3) > 0})
	states := []cluster.HostState{cluster.Maintenance, cluster.Failed, cluster.Quarantined, cluster.Standby}
	for h := range c.Hosts {
		host := &c.Hosts[h]
		switch r.IntN(10) {
		case 0:
			host.State = states[r.IntN(len(states))]
		case 1:
			host.MostVMs = 1 + r.IntN(12)
		case 2:
			host.Memory /= int64(2 + r.IntN(20))
		case 3:
			host.Factor = 40 + r.IntN(300)
		case 4:
			host.Datastores = []int32{int32(r.IntN(2))}
		}
	}
	for v := range c.VMs {
		vm := &c.VMs[v]
		if vm.Host == cluster.Nowhere && r.IntN(3) > 0 {
			vm.Host = cluster.HostID(r.IntN(len(c.Hosts))) // whatever that violates
		}
		vm.Waiting = vm.Host == cluster.Nowhere
		vm.Pinned = r.IntN(12) == 0
		if r.IntN(15) == 0 {
			vm.Demand.CPU = cluster.DemandStatistics{}
		}
		if r.IntN(6) == 0 {
			vm.Mem.Reservation, vm.CPU.Reservation = vm.Memory, int64(vm.VCPUs)*2000
		}
	}
	licence := cluster.Rule{Name: "licence", Kind: cluster.OnHosts, Must: true, Hosts: []cluster.HostID{0, 1}}
	for range 3 {
		licence.VMs = append(licence.VMs, cluster.VMID(r.IntN(len(c.VMs))))
	}
	slices.Sort(licence.VMs)
	licence.VMs = slices.Compact(licence.VMs)
	c.Rules = append(c.Rules, licence)
	for i := range c.Rules { // rules that contradict each other are refused in snapshots
		for j := range c.Rules {
			a, b := &c.Rules[i], &c.Rules[j]
			both := slices.DeleteFunc(slices.Clone(a.VMs), func(v cluster.VMID) bool { return !slices.Contains(b.VMs, v) })
			a.Disabled = a.Disabled || a.Kind == cluster.Apart && b.Kind == cluster.Together && len(both) > 1
		}
	}
	c.Settings.Level = 1 + r.IntN(5)
	c.Settings.SpareHosts = r.IntN(2)
	c.Settings.CostBenefit = r.IntN(4) > 0
	if r.IntN(3) == 0 {
		c.Settings.Model = cluster.ByScore
	}
	return c
}

// told counts the verified causes of each kind.
type told map[string]int

// Each cause in a report is true: it is recomputed from the layout at that point of the plan.
// Each VM that is stranded or violates a hard constraint has one.
func TestReasonsAreTrue(t *testing.T) {
	seen, clusters := told{}, uint64(250)
	if os.Getenv("PLIMSOLL_REAL") != "" {
		clusters = 1000
	}
	for seed := range clusters {
		c := troubled(seed)
		r := Look(c, advice.Options{})
		o := newOracle(c)
		where := fmt.Sprintf("seed %d", seed)
		if err := seen.moves(o, r.Moves); err != nil {
			t.Fatalf("%s: %v", where, err)
		}
		if err := seen.unresolved(o, r); err != nil {
			t.Fatalf("%s: %v", where, err)
		}
		for _, f := range r.Refused {
			if err := seen.sentence(o, f.VM, f.To, f.Why); err != nil {
				t.Fatalf("%s: refused %+v: %v", where, f, err)
			}
		}
		if err := seen.answers(c, seed); err != nil {
			t.Fatalf("%s: %v", where, err)
		}
	}
	for _, kind := range []string{
		HostState, ForRule, WithOther, Reserved, ForRoom, HostLoad, Exchange, SoftRule, Fuller, NoFuller, Feasible, "pinned",
		"state", "network", "datastore", "host rule", "apart", "together", "cpu reservation", "memory reservation", "machines",
	} {
		if seen[kind] == 0 {
			t.Errorf("no cause of the kind %q was seen: %v", kind, seen)
		}
	}
	t.Log(seen)
}

// moves verifies a plan step by step.
func (s told) moves(o *oracle, moves []Move) error {
	for i := 0; i < len(moves); {
		n := i
		for n < len(moves) && moves[n].Step == moves[i].Step {
			if err := s.cause(o, moves, n, moves[i].Step); err != nil {
				return fmt.Errorf("move %+v: %w", moves[n], err)
			}
			n++
		}
		step := moves[i:n]
		for _, m := range step {
			o.at[o.vm(m.VM)] = o.host(m.To)
		}
		for _, m := range step {
			var unit []int
			for _, with := range step {
				if with.To == m.To {
					unit = append(unit, o.vm(with.VM))
				}
			}
			for _, a := range m.Alternatives {
				if err := s.alternative(o, unit, m, a); err != nil {
					return fmt.Errorf("move %+v: not %s: %w", m, a.Host, err)
				}
			}
		}
		i = n
	}
	return nil
}

func (s told) alternative(o *oracle, unit []int, m Move, a Alternative) error {
	s[a.Cause.Kind]++
	if slices.Contains([]string{SoftRule, Fuller, NoFuller}, a.Cause.Kind) {
		if !o.free(unit, o.host(a.Host)) {
			return fmt.Errorf("it is not feasible")
		}
		return o.contrast(unit, o.host(m.To), o.host(a.Host), a.Cause)
	}
	return o.blocked(unit, o.vm(m.VM), o.host(a.Host), a.Cause)
}

// cause verifies the cause of a move.
func (s told) cause(o *oracle, moves []Move, i, step int) error {
	m := moves[i]
	cause, v := m.Cause, o.vm(m.VM)
	s[cause.Kind]++
	h, other := o.host(cause.At), o.vm(cause.Other)
	here := o.at[v] == h
	r := o.rule(cause.Rule)
	ok := false
	switch cause.Kind {
	case HostState:
		state := o.c.Hosts[h].State
		ok = here && string(state) == cause.Object && state != cluster.Connected && state != cluster.Quarantined
	case ForRule:
		ok = has(r, v) && slices.ContainsFunc(r.VMs, func(w cluster.VMID) bool { return o.violates(r, int(w)) })
		ok = ok || has(r, v) && r.Kind == cluster.Together && len(cluster.RuleViolations(o.c, ruleID(o.c, r), func(v cluster.VMID) cluster.HostID { return o.at[v] })) > 0
	case WithOther:
		ok = r.Kind == cluster.Together && r.Must && has(r, v) && has(r, other) && (cause.At == m.To && o.at[other] == h || slices.ContainsFunc(moves, func(w Move) bool { return w.Step == step && w.VM == cause.Other }))
	case Reserved:
		cpu, memory := o.reserved(h)
		all := o.c.Hosts[h].Capacity()
		ok = here && (cpu > all.CPU || memory > all.Memory)
	case ForRoom:
		ok = here && other >= 0 && !o.free([]int{other}, h) && slices.ContainsFunc(moves[i:], func(w Move) bool { return w.VM == cause.Other && w.To == cause.At })
	case HostLoad:
		ok = here && o.loadIs(h, cause.Load) == nil
	case Exchange:
		// The VM itself leaves the host where this is its way on from a host on which it waited.
		ok = slices.ContainsFunc(moves, func(n Move) bool { return n.VM == cause.Other }) &&
			slices.ContainsFunc(moves, func(n Move) bool { return (n.VM == cause.Other || n.VM == m.VM) && n.From == cause.At })
	}
	if !ok {
		return fmt.Errorf("%+v is false", *cause)
	}
	return nil
}

func ruleID(c *cluster.Cluster, r *cluster.Rule) cluster.RuleID {
	return cluster.RuleID(slices.IndexFunc(c.Rules, func(o cluster.Rule) bool { return o.Name == r.Name }))
}

// unresolved verifies stranded VMs and remaining violations.
func (s told) unresolved(o *oracle, r *Report) error {
	list, has := slices.Clone(r.Stranded), map[string]bool{}
	for _, v := range r.Remaining {
		list = append(list, v.VMs...)
	}
	for _, v := range list {
		has[v.VM] = true
		if err := s.stuck(o, v); err != nil {
			return fmt.Errorf("%s: %w", v.Text, err)
		}
	}
	for _, v := range cluster.Violations(o.c, func(v cluster.VMID) cluster.HostID { return o.at[v] }) {
		if len(v.VMs) == 0 {
			return fmt.Errorf("%s: whose is it", v.Text)
		}
		reasons := 0
		for _, vm := range v.VMs {
			if has[o.c.VMs[vm].Name] {
				reasons++
			}
		}
		if reasons < min(len(v.VMs), mostUnresolved) {
			return fmt.Errorf("%s: %d of %d VMs have a reason", v.Text, reasons, len(v.VMs))
		}
	}
	return nil
}

func (s told) stuck(o *oracle, v Stranded) error {
	of := o.vm(v.VM)
	unit := []int{of}
	for _, name := range v.With {
		unit = append(unit, o.vm(name))
	}
	if v.Host != "" && o.at[of] != o.host(v.Host) || v.Text == "" {
		return fmt.Errorf("it runs elsewhere")
	}
	if v.Pinned != "" {
		s["pinned"]++
		if p := o.vm(v.Pinned); !o.c.VMs[p].Pinned || !slices.Contains(unit, p) {
			return fmt.Errorf("%s is not pinned", v.Pinned)
		}
		return nil
	}
	others := len(o.c.Hosts)
	if !slices.ContainsFunc(unit, func(w int) bool { return o.at[w] != o.at[of] }) {
		others--
	}
	if len(v.Hosts) != others {
		return fmt.Errorf("%d of %d hosts have a reason", len(v.Hosts), others)
	}
	for _, a := range v.Hosts {
		s[a.Cause.Kind]++
		if a.Cause.Kind == Feasible {
			if !o.free(unit, o.host(a.Host)) {
				return fmt.Errorf("%s is not feasible", a.Host)
			}
			continue
		}
		if err := o.blocked(unit, of, o.host(a.Host), a.Cause); err != nil {
			return err
		}
	}
	return nil
}

// answers asks why, why-not and place of some VMs.
func (s told) answers(c *cluster.Cluster, seed uint64) error {
	r := rand.New(rand.NewPCG(seed, 8))
	o := newOracle(c)
	v, h := r.IntN(len(c.VMs)), r.IntN(len(c.Hosts))
	for _, a := range Why(c, cluster.VMID(v)).Hosts {
		s[a.Cause.Kind]++
		if a.Cause.Kind != Feasible {
			if err := o.blocked([]int{v}, v, o.host(a.Host), a.Cause); err != nil {
				return fmt.Errorf("why %s: %w", c.VMs[v].Name, err)
			}
			continue
		}
		then := o.clone()
		then.at[v] = o.host(a.Host)
		if err := then.loadIs(then.at[v], a.Cause.Load); err != nil || !o.free([]int{v}, then.at[v]) {
			return fmt.Errorf("why %s on %s: %w", c.VMs[v].Name, a.Host, err)
		}
	}
	for _, says := range WhyNot(c, cluster.VMID(v), cluster.HostID(h)).Says {
		if err := s.sentence(o, c.VMs[v].Name, c.Hosts[h].Name, says); err != nil {
			return fmt.Errorf("why not %s on %s: %w", c.VMs[v].Name, c.Hosts[h].Name, err)
		}
	}
	p, l := Place(c, nil)
	for v := range o.at {
		o.at[v] = l.Host(cluster.VMID(v))
	}
	for _, one := range p.Choices {
		for _, a := range one.Hosts {
			s["place"]++
			if v := o.vm(one.VM); a.Cause.Kind != Feasible {
				if err := o.blocked([]int{v}, v, o.host(a.Host), a.Cause); err != nil {
					return fmt.Errorf("place: %w", err)
				}
			}
		}
	}
	return nil
}

var sentences = []struct {
	kind string
	text *regexp.Regexp
}{
	{"state", regexp.MustCompile(`^the host (?:is in |is on |is |has )(?P<object>\S+)$`)},
	{"network", regexp.MustCompile(`^the host does not have the network (?P<object>\S+)$`)},
	{"datastore", regexp.MustCompile(`^the host does not reach the datastore (?P<object>\S+)$`)},
	{"host rule", regexp.MustCompile(`^the rule (?P<rule>\S+) does not allow it$`)},
	{"apart", regexp.MustCompile(`^the rule (?P<rule>\S+) keeps it apart from (?P<other>\S+), which runs there$`)},
	{"together", regexp.MustCompile(`^the rule (?P<rule>\S+) keeps it together with (?P<other>\S+), which runs on (?P<at>\S+)$`)},
	{"soft", regexp.MustCompile(`^it would violate the rule (?P<rule>\S+), which should hold$`)},
	{"amount", regexp.MustCompile(`^it reserves .*, but only .* (?:are|is) unreserved there$|^it already runs its maximum of|vCPUs are more than`)},
	{"saving", regexp.MustCompile(`^it would save (?P<save>-?\d+) MHz on \S+ and lose (?P<lose>-?\d+) MHz on \S+$`)},
	{"idle", regexp.MustCompile(`^no VM would run better: neither host is loaded enough`)},
	{"dear", regexp.MustCompile(`costs more than it gains: gain (?P<gain>-?\d+) .* risk (?P<risk>-?\d+), cost (?P<cost>-?\d+)`)},
	{"dirty", regexp.MustCompile(`^it dirties memory at .*, faster than it can be copied$`)},
	{"other", regexp.MustCompile(`would go from|^no objection|^it runs there|^it is pinned|^it cannot start|^if \S+ failed|together would save|^no move off \S+ would save \d+ MHz|^the possible moves off \S+ would not save|would not reduce the imbalance|would not raise|would not rise|would not end before|scores? |^it left`)},
}

// sentence verifies a stand-alone sentence against the cluster.
func (s told) sentence(o *oracle, vm, host, text string) error {
	of, h := o.vm(vm), o.host(host)
	unit := []int{of}
	if strings.Contains(text, ", which must stay with it: ") {
		return nil
	}
	for _, known := range sentences {
		m := known.text.FindStringSubmatch(text)
		if m == nil {
			continue
		}
		s["said: "+known.kind]++
		get := func(name string) string {
			if i := known.text.SubexpIndex(name); i >= 0 {
				return m[i]
			}
			return ""
		}
		number := func(name string) int { n, _ := strconv.Atoi(get(name)); return n }
		cause := &Cause{Kind: known.kind, Object: get("object"), Rule: get("rule"), Other: get("other"), At: get("at")}
		switch known.kind {
		case "apart":
			cause.At = host
			return o.blocked(unit, of, h, cause)
		case "state", "network", "datastore", "host rule", "together":
			return o.blocked(unit, of, h, cause)
		case "soft":
			if r := o.rule(cause.Rule); r.Must || r.Kind == "" {
				return fmt.Errorf("%s is no should-rule", cause.Rule)
			}
		case "saving":
			if number("save") > number("lose") {
				return fmt.Errorf("it saves more than it loses")
			}
		case "idle":
			cpu, _ := o.load(o.at[of])
			if cpu > .5 {
				return fmt.Errorf("%s is %.0f %% full", o.c.Hosts[o.at[of]].Name, 100*cpu)
			}
		case "dear":
			if number("gain")+number("risk") > number("cost") {
				return fmt.Errorf("%s", text)
			}
		}
		return nil
	}
	return fmt.Errorf("a sentence that the test does not know: %q", text)
}
