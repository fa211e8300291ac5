package collect

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"plimsoll/internal/load/loadtest"
	"plimsoll/internal/platform"
	"plimsoll/internal/platforms/local"
)

func all() []Source {
	return []Source{CPU(), Interrupts(), Pressure(), Disk(), Memory(), Cgroup(), Filesystem(), Clock(), Frequency()}
}

func TestRecordedServer(t *testing.T) {
	var b strings.Builder
	p := Env{Machine: recorded(t, "server.txtar"), Dir: "/srv/scratch"}
	for _, s := range all() {
		take, err := s.Open(t.Context(), p)
		if err != nil {
			t.Errorf("%s: %v", s.Name, err)
			continue
		}
		values, err := take(t.Context())
		if err != nil {
			t.Errorf("%s: %v", s.Name, err)
		}
		fmt.Fprintf(&b, "%s\n", s.Name)
		for _, name := range slices.Sorted(maps.Keys(values)) {
			fmt.Fprintf(&b, "  %-28s %.10g\n", name, values[name])
		}
	}
	golden(t, "server.golden", b.String())
}

// Every counter that a source reads is declared, once, with its unit.
func TestDeclaredCounters(t *testing.T) {
	p := Env{Machine: recorded(t, "server.txtar"), Dir: "/srv/scratch"}
	seen := map[string]bool{}
	for _, s := range all() {
		declared := map[string]bool{}
		for _, c := range s.Counters {
			if seen[c.Name] || c.Doc == "" || !slices.Contains([]string{"1", "1/s", "B", "B/s", "s"}, c.Unit) {
				t.Errorf("%s: %+v is declared twice or lacks its unit or doc", s.Name, c)
			}
			seen[c.Name], declared[c.Name] = true, true
		}
		take, err := s.Open(t.Context(), p)
		if err != nil {
			t.Fatal(err)
		}
		values, err := take(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for name := range values {
			if !declared[name] {
				t.Errorf("%s reads %s, which it does not declare", s.Name, name)
			}
			delete(declared, name)
		}
		delete(declared, "softirq.block.busiest_share") // needs two readings with work between them
		if len(declared) > 0 {
			t.Errorf("%s does not read %v", s.Name, declared)
		}
	}
}

func TestTheBusiestCPU(t *testing.T) {
	m := recorded(t, "server.txtar")
	take, err := Interrupts().Open(t.Context(), Env{Machine: m})
	if err != nil {
		t.Fatal(err)
	}
	share := func() (float64, bool) {
		t.Helper()
		values, err := take(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		v, ok := values["softirq.block.busiest_share"]
		return v, ok
	}
	if v, ok := share(); ok {
		t.Errorf("a share of nothing is %v", v)
	}
	m.files["/proc/softirqs"] = strings.Replace(m.files["/proc/softirqs"], "100       9000          0        900", "120       9060          0        920", 1)
	if v, ok := share(); !ok || v != 0.6 {
		t.Errorf("got %v, %v, want 0.6", v, ok)
	}
	if v, ok := share(); ok {
		t.Errorf("the old share %v is told again", v)
	}
}

func TestCountersOfTheWholeLineOfControlGroups(t *testing.T) {
	m := recorded(t, "server.txtar")
	m.membership = "0::/\n"
	take, err := Cgroup().Open(t.Context(), Env{Machine: m})
	if err != nil {
		t.Fatal(err)
	}
	if values, err := take(t.Context()); err != nil || values["cgroup.throttled"] != 0 {
		t.Errorf("the topmost group: %v, %v", values, err)
	}
	m.membership = "0::/elsewhere\n"
	if _, err := Cgroup().Open(t.Context(), Env{Machine: m}); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("a group without counts: %v", err)
	}
}

func TestThrottlingOfBothVersions(t *testing.T) {
	for text, want := range map[string][2]float64{
		"nr_periods 9\nnr_throttled 3\nthrottled_time 1500000000\n":            {1.5, 3},
		"usage_usec 1\nnr_periods 9\nnr_throttled 3\nthrottled_usec 1500000\n": {1.5, 3},
	} {
		seconds, periods, ok := parseThrottling([]byte(text))
		if !ok || seconds != want[0] || periods != want[1] {
			t.Errorf("%q: got %v s, %v, %v", text, seconds, periods, ok)
		}
	}
	if _, _, ok := parseThrottling([]byte("usage_usec 100\n")); ok {
		t.Error("a group without a quota has counts")
	}
}

// What a machine lacks is told apart from what goes wrong.
func TestWhatIsLackingIsSaid(t *testing.T) {
	empty := &fake{
		files: map[string]string{"/proc/self/mountinfo": "25 22 0:26 / /dev/shm rw - tmpfs tmpfs rw\n"},
		stats: map[string]string{"/dev/shm": "26 /dev/shm"}, membership: "0::/\n",
	}
	want := map[string]string{
		"cpu": "recorded has no CPU times (no /proc/stat)", "interrupts": "no interrupt counts", "pressure": "no pressure stall information",
		"disk": "lies on tmpfs, which has no block device", "memory": "no memory counts", "cgroup": "no control groups with the cpu controller",
		"filesystem": "does not report the room", "clock": "does not report the state of its clock", "frequency": "no list of CPUs",
	}
	for _, s := range all() {
		_, err := s.Open(t.Context(), Env{Machine: bare{empty}, Dir: "/dev/shm"})
		if !errors.Is(err, errors.ErrUnsupported) || !strings.Contains(err.Error(), want[s.Name]) {
			t.Errorf("%s: got %v, want %q", s.Name, err, want[s.Name])
		}
	}
}

func TestADiskThatIsNotCounted(t *testing.T) {
	m := recorded(t, "server.txtar")
	m.files["/sys/devices/pci0/block/sda/queue/iostats"] = "0\n"
	_, err := Disk().Open(t.Context(), Env{Machine: m, Dir: "/srv/scratch"})
	if !errors.Is(err, errors.ErrUnsupported) || !strings.Contains(err.Error(), "iostats is 0") {
		t.Errorf("got %v", err)
	}
}

func TestDamagedFilesAreFailures(t *testing.T) {
	for name, s := range map[string]Source{
		"/proc/stat": CPU(), "/proc/softirqs": Interrupts(), "/proc/pressure/io": Pressure(), "/proc/meminfo": Memory(),
		"/sys/devices/pci0/block/sda/stat": Disk(), "/sys/devices/system/cpu/cpu1/cpufreq/scaling_cur_freq": Frequency(),
	} {
		m := recorded(t, "server.txtar")
		m.files[name] = "nonsense\n"
		_, err := s.Open(t.Context(), Env{Machine: m, Dir: "/srv/scratch"})
		if err == nil || errors.Is(err, errors.ErrUnsupported) || errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: got %v", s.Name, err)
		}
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

// readers opens what this machine has.
func readers(t testing.TB, m platform.Machine, dir string) map[string]Read {
	t.Helper()
	open := map[string]Read{}
	for _, s := range all() {
		take, err := s.Open(context.Background(), Env{Machine: m, Dir: dir})
		if errors.Is(err, errors.ErrUnsupported) {
			t.Logf("%s: %v", s.Name, err)
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", s.Name, err)
			continue
		}
		open[s.Name] = take
	}
	return open
}

func TestThisMachine(t *testing.T) {
	open := readers(t, machine(t), t.TempDir())
	for _, name := range []string{"cpu", "memory", "interrupts", "filesystem", "clock"} {
		if open[name] == nil {
			t.Errorf("%s does not open on Linux", name)
		}
	}
	cumulative := map[string]bool{}
	for _, s := range all() {
		for _, c := range s.Counters {
			cumulative[c.Name] = c.Cumulative
		}
	}
	for name, take := range open {
		first, err := take(t.Context())
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		second, err := take(t.Context())
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for counter, v := range first {
			if v < 0 || math.IsNaN(v) || cumulative[counter] && counter != "cpu.idle" && counter != "cpu.iowait" && second[counter] < v {
				t.Errorf("%s went from %v to %v", counter, v, second[counter])
			}
		}
	}
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
	take, err := Cgroup().Open(t.Context(), Env{Machine: m})
	if err != nil {
		t.Fatal(err)
	}
	loadtest.Calm(t, func() error {
		before, err := take(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		r, err := m.Run(t.Context(), platform.Command{Argv: []string{"sh", "-c", "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done"}, Worker: true})
		if err != nil || r.Exit != 0 {
			t.Fatalf("%+v, %v", r, err)
		}
		length := time.Since(start).Seconds()
		after, err := take(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		used, held := (r.User+r.System).Seconds()/length, (after["cgroup.throttled"]-before["cgroup.throttled"])/length
		// The worker never sleeps: while it neither ran nor was throttled, others had its CPU.
		if used > 0.3 || held < 0.3*(used+held) || used+held > 1.1 || after["cgroup.throttled.periods"] == before["cgroup.throttled.periods"] {
			return fmt.Errorf("in %.2f s the worker used %.2f CPUs and was throttled %.2f of the time", length, used, held)
		}
		return nil
	})
}

// A whole sample must be cheap, because the lab and its collectors may use one
// hundredth of a CPU: four samples a second leave 2.5 ms each.
func TestASampleIsCheap(t *testing.T) {
	if os.Getenv("PLIMSOLL_REAL") == "" {
		t.Skip("set PLIMSOLL_REAL=1 to measure what collecting costs on this machine")
	}
	open := readers(t, machine(t), t.TempDir())
	cost := func() time.Duration {
		var u syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
			t.Fatal(err)
		}
		return time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	const samples = 400
	before := cost()
	for range samples {
		for name, take := range open {
			if _, err := take(t.Context()); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
	}
	if each := (cost() - before) / samples; each > time.Millisecond {
		t.Errorf("a sample of all sources takes %v of CPU time, more than 1 ms", each)
	} else {
		t.Logf("a sample of all sources takes %v of CPU time", each)
	}
}

func BenchmarkSample(b *testing.B) {
	open := readers(b, machine(b), b.TempDir())
	b.ReportAllocs()
	for b.Loop() {
		for _, take := range open {
			if _, err := take(b.Context()); err != nil {
				b.Fatal(err)
			}
		}
	}
}

// Parsers take any bytes: they answer or complain, and never with a value that
// is no number.
func FuzzParsers(f *testing.F) {
	for _, text := range recorded(f, "server.txtar").files {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		values := map[string]float64{}
		for _, parse := range []func([]byte) (map[string]float64, error){parseCPU, parseMemory, parseDisk} {
			if got, err := parse(text); err == nil {
				maps.Copy(values, got)
			}
		}
		_ = parseTotals(text, values)
		_ = parseSoft(text, values)
		_ = parsePressure(text, []string{"some", "full"}, "pressure.", values)
		parseRescheduling(text, values)
		s := spread{}
		s.busiest(text)
		if v, ok := s.busiest(text); ok {
			t.Errorf("the same counts twice have a busiest CPU with %v", v)
		}
		if seconds, periods, ok := parseThrottling(text); ok {
			values["cgroup"], values["periods"] = seconds, periods
		}
		for name, v := range values {
			if v < 0 || math.IsNaN(v) || math.IsInf(v, 0) {
				t.Errorf("%s is %v", name, v)
			}
		}
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
