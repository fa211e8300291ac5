package causes

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"plimsoll/bench/causes/program"
	"plimsoll/bench/causes/scene"
	"plimsoll/internal/diagnosis/rule"
	"plimsoll/internal/hosttest"
)

func TestMain(m *testing.M) {
	if ran, err := program.Run(os.Args[1:]); ran {
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

func TestListIsComplete(t *testing.T) {
	names, known := map[string]bool{}, map[string]bool{}
	for _, r := range rule.All() {
		known[r.Name] = true
	}
	for _, c := range all() {
		for _, r := range c.rules {
			if !known[r] {
				t.Errorf("%s is for the rule %s, which does not exist", c.name, r)
			}
		}
		if names[c.name] {
			t.Errorf("two causes have the name %s", c.name)
		}
		names[c.name] = true
		if c.about == "" || c.make == nil || c.metric.of == nil {
			t.Errorf("%s is incomplete", c.name)
		}
		if len(c.rules) > 0 && !c.only && (len(c.change) == 0 || c.bites <= 1) {
			t.Errorf("%s has no change, or nothing proves that it is worse with the cause", c.name)
		}
	}
	if n := len(slices.DeleteFunc(all(), func(c cause) bool { return len(c.rules) == 0 })); n < 24 || len(heldOut())*3 < n {
		t.Errorf("%d causes, %d held out: want 24 and a third", n, len(heldOut()))
	}
}

func TestJudge(t *testing.T) {
	stalled := cause{rules: []string{"periodic_stall"}, change: []string{"timer"}, names: []string{"redis"}}
	idle := cause{}
	busy := cause{rules: []string{"cpu_saturated"}, names: []string{"build"}, only: true}
	const first = `{"rule":"periodic_stall","subject":"redis-server (12)","says":"stalls","change":{"says":"find the timer","command":""}}`
	const other = `{"rule":"hot_thread","subject":"client (13)","says":"hot","change":{"says":"more threads"}}`
	const build = `{"rule":"cpu_saturated","subject":"host","says":"build (7) uses 4 CPUs","change":{"says":"more CPUs"}}`
	for _, c := range []struct {
		name          string
		of            cause
		findings      string
		named, change bool
	}{
		{"first, with the change", stalled, first + "," + other, true, true},
		{"second", stalled, other + "," + first, false, false},
		{"another change", stalled, strings.Replace(first, "timer", "disk", 1), true, false},
		{"somebody else", stalled, strings.Replace(first, "redis-server", "nginx", 1), false, false},
		{"nothing", stalled, "", false, false},
		{"nothing where nothing is", idle, "", true, true},
		{"something where nothing is", idle, other, false, false},
		{"busy", busy, build, true, true},
		{"busy, and another claim", busy, build + "," + other, false, false},
	} {
		a, err := parse([]byte(`{"format":1,"findings":[` + c.findings + `]}`))
		if err != nil {
			t.Fatal(err)
		}
		var o outcome
		c.of.judge(a, &o)
		if o.First != c.named || o.Change != c.change {
			t.Errorf("%s: first %v, change %v; want %v, %v", c.name, o.First, o.Change, c.named, c.change)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for _, text := range []string{"", "found nothing", `{"format":2}`, `{"findings":[]}`} {
		if a, err := parse([]byte(text)); err == nil {
			t.Errorf("%q is read as %+v", text, a)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"format":1,"findings":[{"rule":"hot_thread","change":{"says":"x"}}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		a, err := parse(text)
		if err == nil && a.Format != 1 {
			t.Errorf("format %d is accepted", a.Format)
		}
	})
}

func TestWorse(t *testing.T) {
	fast, slow := scene.Sample{Rate: 100, Latency: 1}, scene.Sample{Rate: 50, Latency: 4, Errors: 49}
	for _, c := range []struct {
		of   metric
		want float64
	}{{rate(), 2}, {latency(), 4}, {failures(), 50 * 101. / 100}} {
		if got := c.of.worse(fast, slow); got < c.want*0.99 || got > c.want*1.01 {
			t.Errorf("%s is %v times worse, want %v", c.of.name, got, c.want)
		}
	}
	if got := rate().worse(fast, scene.Sample{}); got < 1000 {
		t.Errorf("a workload that has stopped is %v times worse", got)
	}
}

func TestCommandLine(t *testing.T) {
	o, err := read([]string{"hog", "--runs", "10", "stall,quota", "--json"})
	if err != nil {
		t.Fatal(err)
	}
	chosen, err := o.choose()
	if err != nil || o.runs != 10 || !o.asJSON || len(chosen) != 3 || chosen[1].name != "stall" {
		t.Errorf("%+v: %d causes, %v", o, len(chosen), err)
	}
	if _, err := (settings{names: []string{"gremlin"}}).choose(); err == nil {
		t.Error("a cause that does not exist is chosen")
	}
	if held, _ := (settings{heldOut: true}).choose(); len(held) != len(heldOut()) {
		t.Errorf("%d causes are held out, want %d", len(held), len(heldOut()))
	}
}

// Nine of ten runs suffice; eight do not, and a file of outcomes takes the benchmark up again.
func TestSummary(t *testing.T) {
	c := cause{name: "stall", rules: []string{"periodic_stall"}}
	o := settings{results: filepath.Join(t.TempDir(), "outcomes")}
	var lines bytes.Buffer
	for seed := range 10 {
		found := "periodic_stall"
		if seed == 0 {
			found = "hot_thread"
		}
		fmt.Fprintf(&lines, `{"cause":"stall","seed":%d,"worse":4,"found":[%q],"first":%v,"change":%v}`+"\n", seed+1, found, seed > 0, seed > 0)
	}
	if err := os.WriteFile(o.results, lines.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	done, file, err := o.earlier()
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var out bytes.Buffer
	if err := o.summarise(&out, []cause{c}, done); err != nil || !strings.Contains(out.String(), "hot_thread (1)") {
		t.Errorf("9 of 10 runs: %v\n%s", err, &out)
	}
	done[key{"stall", 2}] = outcome{Cause: "stall", Seed: 2, Found: []string{}}
	if err := o.summarise(&out, []cause{c}, done); err == nil || !strings.Contains(out.String(), "nothing (1)") {
		t.Errorf("8 of 10 runs are enough\n%s", &out)
	}
}

// The host is as before after a cause, and after one that was interrupted while it was made.
func TestTheHostIsPutBack(t *testing.T) {
	if os.Getenv("PLIMSOLL_REAL") == "" {
		t.Skip("makes causes on this host: set PLIMSOLL_REAL=1")
	}
	if !hosttest.ContainAlone(t) {
		return
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	kept, err := scene.Keep(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	b := bench{self: self, kept: kept}
	for _, verb := range []string{"add", "del"} { // the first namespace makes a mount that stays
		if out, err := exec.Command("ip", "netns", verb, "plimsoll-causes-test").CombinedOutput(); err != nil {
			t.Fatalf("ip netns %s: %v: %s", verb, err, out)
		}
	}
	host, before := hosttest.Watch(t, t.TempDir()), hosttest.Take()
	for _, name := range []string{"dirty-pages", "throttle", "loss"} {
		c := all()[slices.IndexFunc(all(), func(c cause) bool { return c.name == name })]
		var rate float64
		failed, undone := b.scene(t.Context(), c, 1, true, func(m *scene.Meter) error {
			if len(hosttest.Diff(before, hosttest.Take())) == 0 {
				t.Errorf("%s changes nothing", name)
			}
			sample, err := m.Mean(time.Time{})
			rate = sample.Rate
			return err
		})
		if failed != nil || undone != nil || rate == 0 {
			t.Errorf("%s: rate %v, failed: %v, not put back: %v", name, rate, failed, undone)
		}
		host.Unchanged(t)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		failed, undone = b.scene(ctx, c, 2, true, func(*scene.Meter) error { return nil })
		cancel()
		if failed == nil || undone != nil {
			t.Errorf("%s, interrupted: failed: %v, not put back: %v", name, failed, undone)
		}
		host.Unchanged(t)
		left, _ := filepath.Glob("/sys/fs/cgroup/*/causes-*")
		if len(left) > 0 {
			t.Errorf("%s leaves %v", name, left)
		}
	}
}

// A run counts only where the hypervisor leaves the host the CPU time that it asks for; guest time is not counted twice.
func TestStealMakesARunVoid(t *testing.T) {
	at := func(ticks string) cpuTime {
		t.Helper()
		read, err := cpuTimeOf("cpu  " + ticks + "\ncpu0 1 2 3 4 5 6 7 8 9 10\n")
		if err != nil {
			t.Fatal(err)
		}
		return read
	}
	before := at("100 0 0 0 0 0 0 0 100 0")
	for _, test := range []struct{ after, want string }{
		{"1100 0 0 1000 0 0 0 30 1100 0", ""},
		{"1000 20 50 900 0 10 20 60 900 0", "the hypervisor withheld 6 % of the CPU time that the host asked for"},
		{"110 0 0 1980 0 0 0 10 110 0", ""}, // half of what an idle host asks for
	} {
		if got := withheld(before, at(test.after), 2); got != test.want {
			t.Errorf("%s: %q, want %q", test.after, got, test.want)
		}
	}
	for _, bad := range []string{"", "cpu 1 2", "cpu a 2 3 4 5 6 7 8", "cpu0 1 2 3 4 5 6 7 8"} {
		if _, err := cpuTimeOf(bad); err == nil {
			t.Errorf("%q was read", bad)
		}
	}
}
