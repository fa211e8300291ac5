package doctor

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/balance/advice"
	"plimsoll/internal/cluster/clustertest"
	"plimsoll/internal/cluster/doctor/warning"
)

// A plan that is carried out without other changes has the predicted outcome.
func TestWhatIsCarriedOutTurnsOutAsPredicted(t *testing.T) {
	moves := 0
	for seed := range uint64(30) {
		before := clustertest.Random(clustertest.Spec{Seed: seed, Hosts: 5, VMs: 40, Rules: 6, Pools: 2, Load: .85, Placed: true})
		if seed%3 == 0 {
			before.Hosts[0].State = cluster.Maintenance
		}
		plan := Look(before, advice.Options{})
		after := *before
		after.VMs = slices.Clone(before.VMs)
		for v := range after.VMs {
			after.VMs[v].Host = After(before, advice.Options{})(cluster.VMID(v))
		}
		o := Follow(before, &after, plan)
		moves += len(o.Moves)
		s := o.Summary
		if s.Made != len(o.Moves) || s.Largest > 1e-9 || math.Abs(o.Lost.Points()) > 1e-9 || len(o.Others)+len(o.Came)+len(o.Went) > 0 {
			t.Errorf("seed %d: %+v", seed, o)
		}
		if len(o.Moves) > 0 && s.Judged == 0 {
			t.Errorf("seed %d: nothing is judged", seed)
		}
	}
	if moves < 50 {
		t.Errorf("%d moves: the test sees too little", moves)
	}
}

// rounds makes rounds by hand: "esx-1: a b" are the VMs of a host, and each has a
// load of a tenth.
func handmade(number int, hosts ...string) *Round {
	r := &Round{Kind: "round", Number: number, Cluster: "lab"}
	for _, h := range hosts {
		name, vms, _ := strings.Cut(h, ":")
		one := RoundHost{Name: name, State: "connected", VMs: strings.Fields(vms)}
		load := float64(len(one.VMs)) / 10
		one.CPU, one.Memory = [2]float64{load, load}, [2]float64{load / 2, load / 2}
		r.Hosts = append(r.Hosts, one)
	}
	return r
}

func (r *Round) plans(moves ...string) *Round {
	for _, m := range moves {
		f := strings.Fields(m)
		r.Moves = append(r.Moves, RoundMove{VM: f[0], From: f[1], To: f[2], Reason: "fairnessCpuAvg"})
		for _, end := range []struct {
			name string
			by   float64
		}{{f[1], -.1}, {f[2], .1}} {
			h := r.host(end.name)
			h.CPU[1] += end.by
			h.Memory[1] += end.by / 2
		}
	}
	return r
}

func TestFollow(t *testing.T) {
	was := handmade(4, "esx-1: a b c d", "esx-2: e f", "esx-3:", "esx-4: g", "esx-5: h").plans("a esx-1 esx-3", "b esx-1 esx-2", "c esx-1 esx-4", "h esx-5 esx-4")
	is := handmade(5, "esx-1: b d", "esx-2: e c", "esx-3: a f", "esx-4: g new", "esx-5:")
	is.Hosts[4].State = "failed"
	o := was.Follow(is)
	var got []string
	for _, m := range o.Moves {
		got = append(got, m.String())
	}
	for _, h := range o.Hosts {
		got = append(got, fmt.Sprintf("%s %+.1f %s", h.Name, h.CPU.Points(), h.Disturbed))
	}
	want := []string{
		"made: a from esx-1 to esx-3 (fairnessCpuAvg)", "not made: b from esx-1 to esx-2 (fairnessCpuAvg)",
		"elsewhere: c from esx-1 to esx-4 (fairnessCpuAvg), but to esx-2", "gone: h from esx-5 to esx-4 (fairnessCpuAvg): it no longer runs",
		"esx-1 +10.0 b was not moved as recommended", "esx-2 -10.0 b was not moved as recommended", "esx-3 +10.0 f came",
		"esx-4 -10.0 c was not moved as recommended", "esx-5 +0.0 h was not moved as recommended",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if len(o.Others) != 1 || o.Others[0] != (OtherMove{VM: "f", From: "esx-2", To: "esx-3"}) || !slices.Equal(o.Came, []string{"new"}) || !slices.Equal(o.Went, []string{"h"}) {
		t.Errorf("others %+v, came %q, went %q", o.Others, o.Came, o.Went)
	}
	if s := o.Summary; s.Made != 1 || s.NotMade != 1 || s.Elsewhere != 1 || s.Gone != 1 || s.Judged != 0 {
		t.Errorf("%+v", s)
	}
}

// Predictions for undisturbed hosts are compared: CPU and memory separately.
func TestPredictionsAreJudged(t *testing.T) {
	was := handmade(1, "esx-1: a b c d", "esx-2: e", "esx-3: f").plans("a esx-1 esx-2")
	is := handmade(2, "esx-1: b c d", "esx-2: e a", "esx-3: f")
	is.Hosts[0].CPU[0], is.Hosts[1].Memory[0] = .36, .09 // predicted .30 and .10
	s := was.Follow(is).Summary
	if s.Judged != 4 || math.Abs(s.Median-.5) > 1e-9 || math.Abs(s.Largest-6) > 1e-9 || s.LargestAt != "CPU of esx-1" {
		t.Errorf("%+v", s)
	}
}

// A host that failed or is emptied explains the departure of its VMs.
func TestAFailedHostExplainsMoves(t *testing.T) {
	for state, why := range map[string]string{"failed": "esx-1 has failed", "maintenance": "esx-1 is in maintenance", "connected": ""} {
		is := handmade(2, "esx-1:", "esx-2: a")
		is.Hosts[0].State = state
		o := handmade(1, "esx-1: a", "esx-2:").Follow(is)
		if why == "" && (len(o.Others) != 1 || len(o.Explained) > 0) || why != "" && (len(o.Explained) != 1 || o.Explained[0].Why != why || len(o.Others) > 0) {
			t.Errorf("%s: %+v", state, o)
		}
	}
}

var histories = []struct {
	name, kind, says string
	rounds           []*Round
}{
	{"a VM is sent away and brought back", "flapping", "a left esx-1 for esx-2 after round 1 (as recommended) and returned after round 2 (not recommended)",
		[]*Round{handmade(1, "esx-1: a b", "esx-2:").plans("a esx-1 esx-2"), handmade(2, "esx-1: b", "esx-2: a"), handmade(3, "esx-1: a b", "esx-2:")}},
	{"who brings it back is a second balancer", "competing balancer", "1 move was made that no round recommended (a from esx-2 to esx-1 after round 2), and 1 of them reverted a recommended move",
		[]*Round{handmade(1, "esx-1: a b", "esx-2:").plans("a esx-1 esx-2"), handmade(2, "esx-1: b", "esx-2: a"), handmade(3, "esx-1: a b", "esx-2:")}},
	{"three moves of somebody else", "competing balancer", "3 moves were made that no round recommended", []*Round{handmade(1, "esx-1: a b c", "esx-2:"), handmade(2, "esx-1: c", "esx-2: a b"), handmade(3, "esx-1:", "esx-2: a b c")}},
	{"two may be a person", "", "competing balancer", []*Round{handmade(1, "esx-1: a b c", "esx-2:"), handmade(2, "esx-1: c", "esx-2: a b")}},
	{"a plan that is carried out", "", "", []*Round{handmade(1, "esx-1: a b", "esx-2:").plans("a esx-1 esx-2"), handmade(2, "esx-1: b", "esx-2: a"), handmade(3, "esx-1: b", "esx-2: a")}},
	{"nobody follows", "not followed", "a to esx-2 in 3 rounds", []*Round{handmade(1, "esx-1: a b", "esx-2:").plans("a esx-1 esx-2"), handmade(2, "esx-1: a b", "esx-2:").plans("a esx-1 esx-2"),
		handmade(3, "esx-1: a b", "esx-2:").plans("a esx-1 esx-2"), handmade(4, "esx-1: a b", "esx-2:")}},
	{"followed at last", "", "", []*Round{handmade(1, "esx-1: a b", "esx-2:").plans("a esx-1 esx-2"), handmade(2, "esx-1: a b", "esx-2:").plans("a esx-1 esx-2"),
		handmade(3, "esx-1: a b", "esx-2:").plans("a esx-1 esx-2"), handmade(4, "esx-1: b", "esx-2: a")}},
	{"the same obstacle", "stuck", "no VM has moved for 3 rounds, for the same reason: 41.9 points apart", []*Round{handmade(1, "esx-1: a").quiet("40.2 points apart", "x"), handmade(2, "esx-1: a").quiet("43 points apart", "x"), handmade(3, "esx-1: a").quiet("41.9 points apart", "x")}},
	{"even loads are no obstacle", "", "", []*Round{handmade(1, "esx-1: a").quiet("even"), handmade(2, "esx-1: a").quiet("even"), handmade(3, "esx-1: a").quiet("even")}},
	{"demand jumps", "predictions", "median error of predicted loads is 20.0 points", []*Round{handmade(1, "esx-1: a b", "esx-2:").plans("a esx-1 esx-2"), func() *Round {
		r := handmade(2, "esx-1: b", "esx-2: a")
		for h := range r.Hosts {
			r.Hosts[h].CPU[0] += .2
			r.Hosts[h].Memory[0] += .2
		}
		return r
	}()}},
}

func (r *Round) quiet(why string, refused ...string) *Round {
	r.Quiet = why
	for _, vm := range refused {
		r.Refused = append(r.Refused, Refused{VM: vm})
	}
	return r
}

func TestHistory(t *testing.T) {
	for _, tc := range histories {
		got := newHistory(tc.rounds).warnings()
		if tc.kind == "" {
			if len(got) > 0 {
				t.Errorf("%s: %+v", tc.name, got)
			}
			continue
		}
		if !slices.ContainsFunc(got, func(w warning.Warning) bool {
			return w.Kind == tc.kind && strings.Contains(w.Text, tc.says) && w.Do != ""
		}) {
			t.Errorf("%s: want %s %q, got %+v", tc.name, tc.kind, tc.says, got)
		}
	}
}

// enter reports on a cluster and appends the round, like the command.
func enter(t *testing.T, file *bytes.Buffer, c *cluster.Cluster, at string) *Report {
	t.Helper()
	l, err := ReadLedger("lab.ledger", file.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	report, round, err := l.Look(c, at)
	if err != nil {
		t.Fatal(err)
	}
	if round != nil {
		line, err := l.Line(round)
		if err != nil {
			t.Fatal(err)
		}
		file.Write(line)
	}
	return report
}

func TestTheNextRoundChecksTheLast(t *testing.T) {
	var file bytes.Buffer
	c := clustertest.Lopsided()
	first := enter(t, &file, c, "2026-11-21T14:00:00Z")
	if first.Round != 1 || first.Last != nil || len(first.Moves) == 0 {
		t.Fatalf("%+v", first)
	}
	if again := enter(t, &file, c, "2026-11-21T14:00:00Z"); again.Round != 1 || !again.Known || strings.Count(file.String(), "\n") != 1 {
		t.Errorf("the same snapshot is entered again: %s", file.String())
	}
	next := clustertest.Lopsided()
	next.At = "2026-11-21T14:05:00Z"
	for v := range next.VMs {
		next.VMs[v].Host = After(c, advice.Options{})(cluster.VMID(v))
	}
	second := enter(t, &file, next, "") // its own time
	if second.Round != 2 || second.Last == nil || second.Last.Summary.Made != len(first.Moves) || second.Last.Summary.Largest > 1e-9 {
		t.Errorf("%+v", second.Last)
	}
	third := enter(t, &file, clustertest.Lopsided(), "2026-11-21T14:10:00Z")
	if third.Last.Summary.Reverted != len(first.Moves) || third.Record.Undone != len(first.Moves) || third.Warnings[0].Kind != "competing balancer" {
		t.Errorf("%+v %+v", third.Last.Summary, third.Warnings)
	}
	var b strings.Builder
	if err := third.Text(&b); err != nil || !strings.Contains(b.String(), "Outcome of the last round (2 of 2026-11-21T14:05:00Z)") {
		t.Errorf("%v %s", err, b.String())
	}
}

// A VM does not return to a host that it left in one of the last rounds.
func TestNothingReturnsAtOnce(t *testing.T) {
	var file bytes.Buffer
	tilted := func(host cluster.HostID) *cluster.Cluster {
		c := clustertest.Lopsided()
		c.Hosts = c.Hosts[:2]
		for v := range c.VMs {
			c.VMs[v].Host = host
		}
		return c
	}
	enter(t, &file, tilted(0), "")
	got := enter(t, &file, tilted(1), "")
	if len(got.Moves) > 0 || !strings.Contains(got.Quiet, "it left that host recently") {
		t.Errorf("%+v %s", got.Moves, got.Quiet)
	}
	if len(Look(tilted(1), advice.Options{}).Moves) == 0 {
		t.Error("without a ledger nothing would move either: the test sees nothing")
	}
}

func TestADamagedLedger(t *testing.T) {
	var file bytes.Buffer
	c := clustertest.Lopsided()
	enter(t, &file, c, "2026-11-21T14:00:00Z")
	whole := bytes.Clone(file.Bytes())
	for _, cut := range []int{1, 20, len(whole) / 2, len(whole) - 2} {
		var two bytes.Buffer
		two.Write(whole)
		two.Write(whole[:cut])
		next := clustertest.Lopsided()
		next.VMs[0].Host = 1
		r := enter(t, &two, next, "2026-11-21T14:05:00Z")
		if w := r.Warnings[0]; r.Round != 2 || r.Last == nil {
			t.Errorf("cut after %d: %+v", cut, w)
		}
		if !slices.ContainsFunc(r.Warnings, func(w warning.Warning) bool {
			return w.Kind == "ledger" && strings.Contains(w.Text, fmt.Sprintf("lab.ledger:2: the line is truncated after %d bytes", cut))
		}) {
			t.Errorf("cut after %d is not named: %+v", cut, r.Warnings)
		}
		l, err := ReadLedger("lab.ledger", two.Bytes())
		if err != nil || len(l.Rounds) != 2 || !bytes.HasPrefix(two.Bytes(), append(whole, whole[:cut]...)) {
			t.Errorf("cut after %d: %v, %d rounds: %s", cut, err, len(l.Rounds), two.String())
		}
	}
}

func TestALedgerOfSomethingElseIsRefused(t *testing.T) {
	for _, text := range []string{"cluster: lab\n", "{\"kind\":\"host\"}\n", "{}", "[1]"} {
		if _, err := ReadLedger("lab.yaml", []byte(text)); err == nil || !strings.Contains(err.Error(), "lab.yaml:1: not a ledger") {
			t.Errorf("%q: %v", text, err)
		}
	}
	var file bytes.Buffer
	c := clustertest.Lopsided()
	enter(t, &file, c, "2026-11-21T14:00:00Z")
	l, err := ReadLedger("l", file.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct{ name, at, says string }{
		{"sound", "2026-11-21T13:59:59Z", "older than the last round"}, {"sound", "yesterday", "must be like"}, {"other", "", "cluster \"sound\", but the snapshot of \"other\""},
	} {
		c.Name = tc.name
		if _, _, err := l.Look(c, tc.at); err == nil || !strings.Contains(err.Error(), tc.says) {
			t.Errorf("%v: %v", tc, err)
		}
	}
}

// Only the last rounds of a long ledger are read, and damage is reported wherever it is.
func TestALongLedger(t *testing.T) {
	var file bytes.Buffer
	l := &Ledger{}
	for n := range 300 {
		line, err := l.Line(handmade(n+1, "esx-1: a"))
		if err != nil {
			t.Fatal(err)
		}
		if n == 7 {
			line = append(line[:40], '\n')
		}
		file.Write(line)
	}
	got, err := ReadLedger("x", file.Bytes())
	if err != nil || len(got.Rounds) < longMemory || len(got.Rounds) > 2*longMemory || got.Rounds[len(got.Rounds)-1].Number != 300 || len(got.Damaged) != 1 || !strings.Contains(got.Damaged[0], "x:8:") {
		t.Errorf("%v, %d rounds, damaged %q", err, len(got.Rounds), got.Damaged)
	}
	if _, err := ReadLedger("x", append([]byte("vms:\n"), file.Bytes()...)); err == nil {
		t.Error("what begins as something else is read")
	}
}

func FuzzLedger(f *testing.F) {
	var file bytes.Buffer
	l := &Ledger{}
	_, round, err := l.Look(clustertest.Lopsided(), "2026-11-21T14:00:00Z")
	if err != nil {
		f.Fatal(err)
	}
	line, _ := l.Line(round)
	file.Write(line)
	f.Add(file.String())
	f.Add(file.String() + file.String()[:30])
	f.Add(`{"kind":"round","round":1,"cluster":"sound","hosts":[{"name":"esx-1","vms":["a-1","a-1"]},{"name":"esx-1"}],"moves":[{"vm":"a-1","to":"x"},{"vm":"a-1","from":"x"}]}`)
	f.Fuzz(func(t *testing.T, text string) {
		l, err := ReadLedger("x", []byte(text))
		if err != nil {
			return
		}
		report, _, err := l.Look(clustertest.Lopsided(), "")
		if err != nil {
			return
		}
		if err := report.Text(&bytes.Buffer{}); err != nil {
			t.Error(err)
		}
		if _, err := json.Marshal(report); err != nil {
			t.Error(err)
		}
	})
}

// Follow is the outcome of a plan: the report on a cluster, against the cluster as it was
// found later.
func Follow(before, after *cluster.Cluster, plan *Report) *Outcome {
	return newRound(before, plan).Follow(newRound(after, Look(after, advice.Options{})))
}
