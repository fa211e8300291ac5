package trace

import (
	"bytes"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/scenario"
)

const head = "seconds,vm,event,vcpus,memory_bytes,cpu_mhz,active_bytes\n"

const example = head +
	"0,web,arrive,4,1000,,\n" +
	"90,late,arrive,2,500,,\n" +
	"0,web,demand,,,100,10\n" +
	"0,db,arrive,8,4000,,\n" +
	"90,late,demand,,,7,3\n" +
	"60,web,demand,,,300,30\n" +
	"119,web,demand,,,200,20\n" +
	"130,late,depart,,,,\n" +
	"200,web,depart,,,,\n" +
	"600,,end,,,,\n"

func TestATraceIsAskedByTheMinute(t *testing.T) {
	tr, err := Read("t.csv", strings.NewReader(example))
	if err != nil {
		t.Fatal(err)
	}
	if err := tr.Follows(&cluster.Cluster{VMs: []cluster.VM{VM("web", 4, 1000), VM("db", 8, 4000)}}); err != nil || tr.Length() != 600 {
		t.Errorf("length %d: %v", tr.Length(), err)
	}
	type life struct{ from, to int64 }
	want := []life{{0, 4}, {0, forever}, {2, 3}}
	for i, w := range want {
		if from, to := tr.vms[i].life(); from != w.from || to != w.to {
			t.Errorf("VM %d lives from %d to %d, want %v", i, from, to, w)
		}
	}
	s := tr.Scenario(&cluster.Cluster{VMs: []cluster.VM{VM("web", 4, 1000), VM("db", 8, 4000)}}, 10)
	for _, c := range []struct {
		vm          cluster.VMID
		minute      int64
		cpu, active int64
	}{
		{0, 0, 100, 10}, {0, 1, 300, 30}, {0, 2, 200, 20}, {0, 3, 200, 20}, {0, 4, 0, 0}, {0, -1, 0, 0},
		{1, 5, 0, 0}, {2, 1, 0, 0}, {2, 2, 7, 3}, {2, 3, 0, 0},
	} {
		want := scenario.Sample{CPU: c.cpu, Active: c.active}
		if got := s.Demand.At(c.vm, c.minute*60); got != want {
			t.Errorf("VM %d at minute %d: %+v, want %+v", c.vm, c.minute, got, want)
		}
	}
	if v := s.Cluster.VMs[2]; len(s.Cluster.VMs) != 3 || v.Name != "late" || v.Waiting || v.VCPUs != 2 || v.Memory != 500 || v.CPU.Shares != 2000 || v.Host != cluster.Nowhere {
		t.Errorf("late is %+v", v)
	}
	event := func(minute int64, kind scenario.EventKind, v cluster.VMID) scenario.Event {
		return scenario.Event{At: minute * 60, Kind: kind, VMs: []cluster.VMID{v}}
	}
	if d := cmp.Diff([]scenario.Event{event(2, scenario.ArriveEvent, 2), event(3, scenario.DepartEvent, 2), event(4, scenario.DepartEvent, 0)}, s.Events); d != "" {
		t.Error(d)
	}
	if short := tr.Scenario(&cluster.Cluster{VMs: s.Cluster.VMs[:2]}, 2); len(short.Cluster.VMs) != 2 || len(short.Events) != 0 || short.Length != 120 {
		t.Errorf("two minutes: %+v", short)
	}
}

// The example of the guide is a trace.
func TestTheExampleOfTheGuide(t *testing.T) {
	page, err := os.ReadFile("../../../docs/cluster/traces.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(page), "```csv\n")
	text, _, found := strings.Cut(text, "```")
	tr, err := Read("traces.md", strings.NewReader(text))
	if err != nil || !found || len(tr.vms) != 2 || tr.Length() != 86400 {
		t.Errorf("%v in\n%s", err, text)
	}
}

func TestATraceFollowsOnItsCluster(t *testing.T) {
	tr, err := Read("t.csv", strings.NewReader(example))
	if err != nil {
		t.Fatal(err)
	}
	c := &cluster.Cluster{VMs: []cluster.VM{VM("web", 4, 1000), VM("db", 8, 4000)}}
	if err := tr.Follows(c); err != nil {
		t.Error(err)
	}
	c.VMs[1].Memory++
	if err := tr.Follows(c); err == nil || !strings.Contains(err.Error(), "VM 2 is db") {
		t.Errorf("another size: %v", err)
	}
	c.VMs = c.VMs[:1]
	if err := tr.Follows(c); err == nil {
		t.Error("a cluster with fewer VMs")
	}
}

func TestMistakesOfATraceAreNamed(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", "t.csv:1: the file is empty"},
		{"a,b,c,d,e,f,g\n", `t.csv:1: column 1 is "a"; expected "seconds"`},
		{head, `t.csv:1: row "end" is missing after this one: the file is truncated`},
		{head + "0,web,arrive,4,1000,,\n", `t.csv:2: row "end" is missing`},
		{head + "0,web,arrive,4,1000,,", `t.csv:2: the line has no newline: the file is truncated`},
		{head + "0,web,arr", `t.csv:2: the last line has 3 of 7 columns and no newline`},
		{head + "0,,end,,,,\n0,web,arrive,4,1000,,\n", `t.csv:3: a row after the end of the trace`},
		{head + "0,web,arrive,0,1000,,\n", `t.csv:2: VM web has no vCPUs or no memory`},
		{head + "0,web,arrive,4,1000,5,\n", `t.csv:2: cpu_mhz "5": must be empty for the event arrive`},
		{head + "0,web,arrive,4,-1,,\n", `t.csv:2: memory_bytes "-1" is below 0`},
		{head + "0,web,arrive,4,99999999999999999,,\n", `t.csv:2: memory_bytes "99999999999999999" is above`},
		{head + "0,web,arrive,4,,,\n", `t.csv:2: memory_bytes "" is not an integer`},
		{head + "0,web,appear,4,1,,\n", `t.csv:2: event "appear": must be arrive`},
		{head + "0,,depart,,,,\n", `t.csv:2: vm "": a VM is required`},
		{head + "0,web*,depart,,,,\n", `t.csv:2: vm "web*" contains a comma, a star`},
		{head + "0,web,demand,,,NaN,1\n", `t.csv:2: cpu_mhz "NaN" is not an integer`},
		{head + "0,web,demand,,,1,1\n", `t.csv:2: VM web has not arrived`},
		{head + "0,w,arrive,4,1,,\n1,w,arrive,4,1,,\n", `t.csv:3: VM w arrives twice`},
		{head + "5,w,arrive,4,1,,\n4,w,demand,,,1,1\n", `t.csv:3: VM w: second 4 follows second 5`},
		{head + "5,w,arrive,4,1,,\n\n5,w,demand,,,1,1\n5,w,demand,,,2,1\n", `t.csv:5: VM w: second 5 follows second 5`},
		{head + "5,w,arrive,4,1,,\n6,w,depart,,,,\n7,w,demand,,,1,1\n", `t.csv:4: VM w has departed in second 6`},
		{head + "5,w,arrive,4,1,,\n4,,end,,,,\n", `t.csv: the trace ends in second 4, and VM w has a row in second 5`},
	} {
		tr, err := Read("t.csv", strings.NewReader(c.text))
		if err == nil || !strings.HasPrefix(err.Error(), c.want) || tr != nil {
			t.Errorf("%q:\n%v\nwant %s", strings.TrimPrefix(c.text, head), err, c.want)
		}
	}
}

func TestTheWriterRefusesWhatIsNotRead(t *testing.T) {
	for _, r := range []Row{
		{VM: "w", Kind: "appear"}, {VM: "w", Kind: End}, {VM: "", Kind: Depart}, {VM: "a,b", Kind: Depart}, {VM: "a\nb", Kind: Depart},
		{VM: "w", Kind: Arrive, VCPUs: 1}, {VM: "w", Kind: Arrive, Memory: 1}, {VM: "w", Kind: Demand, CPU: -1}, {VM: "w", Kind: Demand, CPU: MostMHz + 1},
		{VM: "w", Kind: Demand, Active: MostBytes + 1}, {VM: "w", Kind: Depart, Second: -1}, {VM: strings.Repeat("w", 201), Kind: Depart},
	} {
		if err := NewWriter(&bytes.Buffer{}).Write(r); err == nil {
			t.Errorf("%+v was written", r)
		}
	}
}

// Traces survive writing and reading, and demand equals that of an oracle that scans all rows.
func TestWrittenTracesAreReadAsTheyWere(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 1))
		rows := randomRows(r)
		var out bytes.Buffer
		w := NewWriter(&out)
		for _, row := range rows {
			if err := w.Write(row); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(5000); err != nil {
			t.Fatal(err)
		}
		tr, err := Read("t", &out)
		if err != nil {
			t.Fatal(err)
		}
		for range 50 {
			i, second := r.IntN(len(tr.vms)), r.Int64N(5000)
			m := &tr.vms[i]
			from, to := m.life()
			if minute := second / 60; minute >= from && minute < to {
				if got, want := m.at(minute), oracle(rows, m.name, minute*60); want != (scenario.Sample{}) && got != want {
					t.Fatalf("seed %d: %s at minute %d: %+v, want %+v", seed, m.name, minute, got, want)
				}
			}
		}
	}
}

func randomRows(r *rand.Rand) []Row {
	var rows []Row
	for m := range 1 + r.IntN(6) {
		name := string(rune('a' + m))
		at := r.Int64N(2) * r.Int64N(1000)
		rows = append(rows, Row{Second: at, VM: name, Kind: Arrive, VCPUs: 1 + r.IntN(8), Memory: 1 + r.Int64N(1<<40)})
		for range r.IntN(20) {
			at += 1 + r.Int64N(100)
			rows = append(rows, Row{Second: at, VM: name, Kind: Demand, CPU: r.Int64N(4), Active: r.Int64N(4)})
		}
		if r.IntN(2) == 0 {
			rows = append(rows, Row{Second: at + r.Int64N(100), VM: name, Kind: Depart})
		}
	}
	slices.SortStableFunc(rows, func(a, b Row) int { return int(a.Second - b.Second) })
	return rows
}

func oracle(rows []Row, name string, second int64) (s scenario.Sample) {
	for _, row := range rows {
		switch {
		case row.VM != name || row.Second > second:
		case row.Kind == Demand:
			s = scenario.Sample{CPU: row.CPU, Active: row.Active}
		case row.Kind == Depart:
			return scenario.Sample{}
		}
	}
	return s
}

func FuzzRead(f *testing.F) {
	f.Add(example)
	f.Add(head + "0,,end,,,,\n")
	f.Fuzz(func(t *testing.T, text string) {
		tr, err := Read("t", strings.NewReader(text))
		if err != nil {
			return
		}
		c := &cluster.Cluster{VMs: make([]cluster.VM, tr.first)}
		last := int64(0)
		for _, e := range tr.Scenario(c, 1<<40).Events {
			if e.At < last {
				t.Fatal("events are out of order")
			}
			last = e.At
		}
		for i := range tr.vms {
			m := &tr.vms[i]
			from, to := m.life()
			if m.vcpus < 1 || m.memory < 1 || from >= to || (i >= tr.first) != (from > 0) {
				t.Fatalf("VM %+v from %d to %d", m, from, to)
			}
			if s := m.at(from); s.CPU < 0 || s.Active < 0 {
				t.Fatalf("%+v", s)
			}
		}
		var out bytes.Buffer
		w := NewWriter(&out)
		for row := range Rows("t", strings.NewReader(text)) {
			if row.Kind == End {
				err = w.Close(row.Second)
			} else {
				err = w.Write(row)
			}
			if err != nil {
				t.Fatalf("%+v was read and is not written: %v", row, err)
			}
		}
		if _, err := Read("t", &out); err != nil {
			t.Fatal(err)
		}
	})
}
