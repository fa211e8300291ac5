package collect

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/hoststat"
	"plimsoll/internal/hoststat/cgroup"
	"plimsoll/internal/hoststat/interval"
	"plimsoll/internal/load/loadtest"
	"plimsoll/internal/platform"
	"plimsoll/internal/platforms/local"
)

func all() []Source {
	return []Source{
		CPU(), Interrupts(), Pressure(), Disk(), Memory(), Cgroup(), Paging(), NUMA(), Network(), Processes(), Filesystem(), Clock(), Frequency(),
	}
}

// place is the recorded server, with the control group of a worker.
func place(m *fake) Env {
	return Env{Machine: m, Dir: "/srv/scratch", Membership: m.membership}
}

// doubled is a machine whose counts are twice as large.
func doubled(m *fake) *fake {
	later := *m
	later.files = maps.Clone(m.files)
	count := regexp.MustCompile(`([ \t=])(\d+)`)
	for _, name := range []string{
		"/proc/stat", "/proc/softirqs", "/proc/interrupts", "/proc/pressure/cpu", "/proc/pressure/io", "/proc/pressure/memory", "/proc/pressure/irq",
		"/proc/vmstat", "/proc/net/dev", "/proc/net/snmp", "/proc/net/netstat", "/proc/diskstats",
		"/sys/fs/cgroup/work.slice/cpu.stat", "/sys/fs/cgroup/work.slice/plimsoll/cpu.stat",
	} {
		later.files[name] = count.ReplaceAllStringFunc(m.files[name], func(n string) string {
			x, _ := strconv.ParseUint(n[1:], 10, 64)
			return n[:1] + strconv.FormatUint(2*x, 10)
		})
	}
	return &later
}

// between is the interval of a second between two machines.
func between(t testing.TB, a, b *fake) *hoststat.Interval {
	t.Helper()
	var series interval.Series
	for at, m := range []*fake{a, b} {
		r := hoststat.NewReader(Files(t.Context(), m))
		r.Only, r.Members = FileSources(), []string{m.membership}
		series.Add(r.Read(float64(at)))
	}
	return series.Mean()
}

// read takes the counters of a source over a second, in which each count grows by what it was.
func counted(t testing.TB, s Source, m *fake) map[string]float64 {
	t.Helper()
	values := map[string]float64{}
	if s.Host == nil {
		take, err := s.Open(t.Context(), place(m))
		if err == nil {
			values, err = take(t.Context())
		}
		if err != nil {
			t.Errorf("%s: %v", s.Name, err)
		}
		return values
	}
	flatten, err := s.Host(t.Context(), place(m))
	if err != nil {
		t.Errorf("%s: %v", s.Name, err)
		return values
	}
	flatten(between(t, m, doubled(m)), values)
	return values
}

func TestRecordedServer(t *testing.T) {
	var b strings.Builder
	m := recorded(t, "server.txtar")
	for _, s := range all() {
		values := counted(t, s, m)
		fmt.Fprintf(&b, "%s\n", s.Name)
		for _, name := range slices.Sorted(maps.Keys(values)) {
			fmt.Fprintf(&b, "  %-28s %.10g\n", name, values[name])
		}
	}
	golden(t, "server.golden", b.String())
}

// Every counter that a source reads is declared, once, with its unit.
func TestDeclaredCounters(t *testing.T) {
	m := recorded(t, "server.txtar")
	seen := map[string]bool{}
	for _, s := range all() {
		declared := map[string]bool{}
		for _, c := range s.Counters {
			if seen[c.Name] || c.Doc == "" || !slices.Contains([]string{"1", "1/s", "B", "B/s", "s"}, c.Unit) {
				t.Errorf("%s: %+v is declared twice or lacks its unit or doc", s.Name, c)
			}
			seen[c.Name], declared[c.Name] = true, true
		}
		for name := range counted(t, s, m) {
			if !declared[name] {
				t.Errorf("%s reads %s, which it does not declare", s.Name, name)
			}
			delete(declared, name)
		}
		for name := range declared { // what the recorded server lacks
			switch {
			case s.Name == "numa", s.Name == "processes", strings.HasPrefix(name, "cgroup.service."):
			case name == "softirq.block.gini" || name == "disk.flush.latency", name == "interrupts.tlb":
			default:
				t.Errorf("%s does not read %s", s.Name, name)
			}
		}
	}
}

// Counters of processes are by their part, and those of NUMA of several nodes only.
func TestPartsAndNodes(t *testing.T) {
	i := &hoststat.Interval{
		Processes: []hoststat.Process{
			{Name: "plimsoll", User: .1},
			{Name: "plimsoll", User: .5, Origin: "/usr/bin/plimsoll worker", Detailed: true, RunDelay: .2, Voluntary: 7},
			{Name: "postgres", User: .4, System: .3, Origin: "postgres -D /scratch", Detailed: true, Group: "/db", Tasks: []hoststat.Thread{{Moves: 3}}},
			{Name: "cc1", User: 2, Detailed: true, Involuntary: 9},
			{Name: "kworker/0:1", System: .25},
		},
		Groups: []cgroup.Group{{Path: "/db", Throttled: .5, ThrottledPeriods: 3}, {Path: "/", LimitHits: 2}},
		Nodes:  []hoststat.Node{{Stat: map[string]float64{"local_node": 30, "other_node": 10}}, {Stat: map[string]float64{"local_node": 40, "other_node": 20, "numa_miss": 1}}},
		VM:     map[string]float64{"numa_pages_migrated": 5},
	}
	values := map[string]float64{}
	m := recorded(t, "server.txtar")
	of := place(m)
	of.Served = true
	for _, s := range []Source{Processes(), NUMA(), Cgroup()} {
		flatten, err := s.Host(t.Context(), of)
		if err != nil {
			t.Fatal(err)
		}
		flatten(i, values)
	}
	for name, want := range map[string]float64{
		"processes.service.cpu": .7, "processes.service.migrations": 3, "processes.generator.cpu": .5, "processes.generator.run_delay": .2,
		"processes.generator.switches.voluntary": 7, "processes.others.cpu": 2.25, "processes.others.switches.involuntary": 9,
		"cgroup.service.throttled": .5, "cgroup.service.throttled.periods": 3, "cgroup.service.limit_hits": 2,
		"numa.remote": 30, "numa.remote_share": .3, "numa.misses": 1, "numa.migrated": 5,
	} {
		if got, ok := values[name]; !ok || math.Abs(got-want) > 1e-9 {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
	unread := map[string]float64{}
	flattenProcesses(&hoststat.Interval{Processes: []hoststat.Process{{Name: "ceph-osd", User: .3, Origin: "sh start.sh"}}}, true, unread)
	if _, known := unread["processes.service.run_delay"]; known || unread["processes.service.cpu"] != .3 {
		t.Errorf("a process whose threads were not read has %v", unread)
	}
	one := map[string]float64{}
	flattenSpread("x", []float64{0, 0}, one)
	i.Nodes = i.Nodes[:1]
	flatten, _ := NUMA().Host(t.Context(), of)
	if flatten(i, one); len(one) > 0 {
		t.Errorf("a machine with one node has %v", one)
	}
}

func TestTheBusiestCPU(t *testing.T) {
	m := recorded(t, "server.txtar")
	later := *m
	later.files = maps.Clone(m.files)
	later.files["/proc/softirqs"] = strings.Replace(m.files["/proc/softirqs"], "100       9000          0        900", "120       9060          0        920", 1)
	values := map[string]float64{}
	flattenInterrupts(between(t, m, &later), values)
	if v := values["softirq.block.busiest_share"]; v != 0.6 || values["softirq.block.cpus90"] != 3 {
		t.Errorf("got %v, want 0.6", values)
	}
}

func TestCountersOfTheWholeLineOfControlGroups(t *testing.T) {
	m := recorded(t, "server.txtar")
	m.membership = "0::/\n"
	if values := counted(t, Cgroup(), m); values["cgroup.throttled"] != 0 {
		t.Errorf("the topmost group: %v", values)
	}
	m.membership = ""
	if _, err := Cgroup().Host(t.Context(), place(m)); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("a worker whose group is unknown: %v", err)
	}
}

// What a machine lacks is told apart from what goes wrong.
func TestWhatIsLackingIsSaid(t *testing.T) {
	empty := &fake{
		files: map[string]string{"/proc/self/mountinfo": "25 22 0:26 / /dev/shm rw - tmpfs tmpfs rw\n"},
		stats: map[string]string{"/dev/shm": "26 /dev/shm"}, membership: "0::/\n",
	}
	want := map[string]string{
		"disk": "lies on tmpfs, which has no block device", "cgroup": "no control groups with the cpu controller",
		"filesystem": "does not report the room", "clock": "does not report the state of its clock", "frequency": "no list of CPUs",
	}
	missing := between(t, empty, empty).Missing
	for _, s := range all() {
		of := Env{Machine: bare{empty}, Dir: "/dev/shm", Membership: empty.membership}
		var err error
		if s.Host != nil {
			_, err = s.Host(t.Context(), of)
		} else {
			_, err = s.Open(t.Context(), of)
		}
		switch {
		case want[s.Name] != "":
			if !errors.Is(err, errors.ErrUnsupported) || !strings.Contains(err.Error(), want[s.Name]) {
				t.Errorf("%s: got %v, want %q", s.Name, err, want[s.Name])
			}
		case err != nil:
			t.Errorf("%s: %v", s.Name, err)
		case s.Name != "processes" && s.Name != "numa" && missing[s.Needs[0]] == "":
			t.Errorf("%s needs %s, which is not missing: %v", s.Name, s.Needs, missing)
		}
	}
}

func TestADiskThatIsNotCounted(t *testing.T) {
	m := recorded(t, "server.txtar")
	m.files["/sys/devices/pci0/block/sda/queue/iostats"] = "0\n"
	_, err := Disk().Host(t.Context(), place(m))
	if !errors.Is(err, errors.ErrUnsupported) || !strings.Contains(err.Error(), "iostats is 0") {
		t.Errorf("got %v", err)
	}
}

func TestADamagedFileIsAFailure(t *testing.T) {
	m := recorded(t, "server.txtar")
	m.files["/sys/devices/system/cpu/cpu1/cpufreq/scaling_cur_freq"] = "nonsense\n"
	_, err := Frequency().Open(t.Context(), place(m))
	if err == nil || errors.Is(err, errors.ErrUnsupported) || errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}

func TestTestbedOfTheRecordedServer(t *testing.T) {
	var b strings.Builder
	for _, f := range Testbed(t.Context(), recorded(t, "server.txtar"), "/srv/scratch") {
		fmt.Fprintf(&b, "%-36s %s\n", f.Name, f.Value)
	}
	for _, secret := range []string{"hunter2", "abc123", "me:pw", "SECRET-SERIAL", "sneaky"} {
		if strings.Contains(b.String(), secret) {
			t.Errorf("the record holds %q", secret)
		}
	}
	golden(t, "testbed.golden", b.String())
}

func TestTestbedOfABareMachine(t *testing.T) {
	record := Testbed(t.Context(), &fake{}, "/srv")
	if len(record) < 20 {
		t.Errorf("only %d facts", len(record))
	}
	for _, f := range record {
		if f.Name != "machine.name" && !strings.HasPrefix(f.Value, NotReadable) {
			t.Errorf("%s is %q on a machine that has nothing", f.Name, f.Value)
		}
	}
}

func TestTestbedSurvivesJSON(t *testing.T) {
	a := TestbedRecord{{"b", `x "y"`}, {"a", "<z>"}}
	text, err := a.MarshalJSON()
	if err != nil || !strings.HasPrefix(string(text), `{"b":"x \"y\"","a":`) {
		t.Fatalf("got %s, %v", text, err)
	}
	var again TestbedRecord
	if err := again.UnmarshalJSON(text); err != nil || !slices.Equal(a, again) {
		t.Errorf("got %v, %v", again, err)
	}
	for _, bad := range []string{`[]`, `{"a":1}`, `{"a":`, ``} {
		if err := again.UnmarshalJSON([]byte(bad)); err == nil {
			t.Errorf("%s passed", bad)
		}
	}
}

// machine is this machine.
func machine(t testing.TB) platform.Machine {
	t.Helper()
	p, err := local.Kind().Open(context.Background(), nil, 1)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p.Machine()
}

// A worker with a fifth of a CPU that wants a whole one is throttled.
func TestRealThrottling(t *testing.T) {
	if os.Getenv("PLIMSOLL_REAL") == "" {
		t.Skip("set PLIMSOLL_REAL=1 to hold a process back")
	}
	m := machine(t)
	c, ok := m.(platform.Confiner)
	if !ok {
		t.Fatal("this machine cannot confine workers")
	}
	if err := c.Confinable(t.Context(), platform.Confinement{Quota: "0.2"}); err != nil {
		t.Skip(err)
	}
	if err := c.Confine(t.Context(), platform.Confinement{Quota: "0.2"}); err != nil {
		t.Fatal(err)
	}
	own, err := m.Run(t.Context(), platform.Command{Argv: []string{"cat", "/proc/self/cgroup"}, Worker: true})
	if err != nil {
		t.Fatal(err)
	}
	flatten, err := Cgroup().Host(t.Context(), Env{Machine: m, Membership: string(own.Stdout)})
	if err != nil {
		t.Fatal(err)
	}
	loadtest.Calm(t, func() error {
		reader := hoststat.NewReader(hoststat.Local())
		reader.Members = []string{string(own.Stdout)}
		var series interval.Series
		series.Add(reader.Read(0))
		start := time.Now()
		r, err := m.Run(t.Context(), platform.Command{Argv: []string{"sh", "-c", "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done"}, Worker: true})
		if err != nil || r.Exit != 0 {
			t.Fatalf("%+v, %v", r, err)
		}
		length := time.Since(start).Seconds()
		series.Add(reader.Read(length))
		counts := map[string]float64{}
		flatten(series.Mean(), counts)
		used, held := (r.User+r.System).Seconds()/length, counts["cgroup.throttled"]
		// The worker never sleeps: while it neither ran nor was throttled, others had its CPU.
		if used > 0.3 || held < 0.3*(used+held) || used+held > 1.1 || counts["cgroup.throttled.periods"] == 0 {
			return fmt.Errorf("in %.2f s the worker used %.2f CPUs and was throttled %.2f of the time", length, used, held)
		}
		return nil
	})
}

func FuzzTestbedTexts(f *testing.F) {
	m := recorded(f, "server.txtar")
	f.Add(m.files["/proc/cpuinfo"])
	f.Add(m.files["/proc/cmdline"])
	f.Add("a=b password=x://y@z -- q")
	f.Fuzz(func(t *testing.T, text string) {
		countCPUs(text)
		distribution(text)
		chosenWord(text)
		out := withhold(text)
		for w := range strings.FieldsSeq(out) {
			if key, v, found := strings.Cut(w, "="); found && strings.HasSuffix(key, "password") && v != "[withheld]" {
				t.Errorf("%q became %q", text, out)
			}
		}
	})
}
