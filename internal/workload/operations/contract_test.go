package operations

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"plimsoll/internal/load"
	"plimsoll/internal/load/loadtest"
	"plimsoll/internal/measure"
	"plimsoll/internal/parameter"
	"plimsoll/internal/platform"
	"plimsoll/internal/workload"
	"plimsoll/internal/workload/operations/management"
	"plimsoll/internal/workload/operations/owner"
	"plimsoll/internal/workload/workloadtest"
)

func TestMain(m *testing.M) {
	loadtest.Parallel(8)
	os.Exit(m.Run())
}

// memory is a platform in memory. It refuses what a platform refuses: wrong power states, two
// operations on a VM at a time, and names that are taken.
type memory struct {
	took time.Duration        // by each operation
	ran  func() time.Duration // what is said of it, where it is set
	slow func() time.Duration // by how much longer it takes, where it is set

	mu      sync.Mutex
	vms     map[string]*kept
	tickets map[string]chan ended
	made    int
	flying  map[string]int
	peak    int
	rules   management.Survey
	hosts   []string // instead of four
	lacks   []string
	lose    func(o management.Order) bool // acknowledges without doing it
	fail    func(o management.Order) error
}

type kept struct {
	management.VM
	busy bool
}

type ended struct {
	out management.Outcome
	err error
}

func newMemory() *memory {
	return &memory{vms: map[string]*kept{}, tickets: map[string]chan ended{}, flying: map[string]int{}, took: time.Millisecond}
}

func (m *memory) open(context.Context, load.Endpoint) (management.Platform, error) { return m, nil }
func (m *memory) platforms() map[string]management.Opener {
	return map[string]management.Opener{"vsphere": m.open}
}

func (m *memory) Close() error { return nil }

func (m *memory) Survey(_ context.Context, prefix, mark string) (management.Survey, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.rules
	if s.Hosts = []string{"h1", "h2", "h3", "h4"}; m.hosts != nil {
		s.Hosts = m.hosts
	}
	for _, v := range m.vms {
		if strings.HasPrefix(v.Name, prefix) && management.Marked(v.Note, mark) {
			s.VMs = append(s.VMs, v.VM)
		}
	}
	return s, nil
}

func (m *memory) Missing(context.Context, []management.Kind) ([]string, error) { return m.lacks, nil }

func refuse(name string) error { return &management.Fault{Name: name, Err: errors.New(name)} }

func (m *memory) Issue(_ context.Context, o management.Order) (string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	v := m.vms[o.VM]
	switch {
	case o.Kind != management.Create && v == nil:
		return "", refuse("ManagedObjectNotFound")
	case v != nil && v.busy:
		return "", refuse("TaskInProgress")
	}
	if m.fail != nil {
		if err := m.fail(o); err != nil {
			return "", err
		}
	}
	hosts := []string{o.Host}
	if v != nil {
		v.busy = true
		hosts = append(hosts[:0], v.Host)
		if o.Host != "" && o.Host != v.Host {
			hosts = append(hosts, o.Host)
		}
	}
	for _, h := range hosts {
		m.flying[h]++
		m.peak = max(m.peak, m.flying[h])
	}
	m.made++
	ticket := fmt.Sprintf("t%d", m.made)
	m.tickets[ticket] = make(chan ended, 1)
	took := m.took
	if m.slow != nil {
		took += m.slow()
	}
	time.AfterFunc(took, func() { m.finish(ticket, v, o, hosts) })
	return ticket, nil
}

func (m *memory) finish(ticket string, v *kept, o management.Order, hosts []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, h := range hosts {
		m.flying[h]--
	}
	if v != nil {
		v.busy = false
	}
	e := ended{out: management.Outcome{Queued: 0, Ran: m.took}}
	if m.ran != nil {
		e.out.Ran = m.ran()
	}
	if m.lose == nil || !m.lose(o) {
		e.out.VM, e.err = m.apply(ticket, v, o)
	}
	m.tickets[ticket] <- e
}

func (m *memory) apply(ticket string, v *kept, o management.Order) (string, error) {
	want := map[management.Kind]management.Power{
		management.Suspend: management.On, management.Migrate: management.On,
		management.Delete: management.Off, management.Relocate: management.Off, management.Register: management.Off,
	}[o.Kind]
	if v != nil && want != "" && v.Power != want || o.Kind == management.PowerOn && v.Power == management.On || o.Kind == management.PowerOff && v.Power == management.Off {
		return "", refuse("InvalidPowerState")
	}
	switch o.Kind {
	case management.Create, management.Clone:
		m.vms[ticket] = &kept{VM: management.VM{ID: ticket, Name: o.Name, Host: o.Host, Power: management.Off, Note: o.Mark}}
		return ticket, nil
	case management.Delete:
		delete(m.vms, o.VM)
	case management.Register:
		delete(m.vms, o.VM)
		v.ID = ticket
		m.vms[ticket] = v
		return ticket, nil
	case management.PowerOn:
		v.Power = management.On
	case management.PowerOff:
		v.Power = management.Off
	case management.Suspend:
		v.Power = management.Suspended
	case management.Migrate, management.Relocate:
		v.Host = o.Host
	case management.Reconfigure:
		v.Shares = o.Shares
	case management.Snapshot:
		v.Snapshots++
	case management.Revert:
		if v.Snapshots == 0 {
			return "", refuse("NotFound")
		}
	case management.RemoveSnapshots:
		if v.Power == management.Suspended {
			return "", refuse("InvalidPowerState")
		}
		v.Snapshots = 0
	}
	return "", nil
}

func (m *memory) Await(ctx context.Context, ticket string) (management.Outcome, error) {
	m.mu.Lock()
	ends := m.tickets[ticket]
	m.mu.Unlock()
	select {
	case e := <-ends:
		return e.out, e.err
	case <-ctx.Done():
		return management.Outcome{}, ctx.Err()
	}
}

func (m *memory) env(t *testing.T) workload.Env {
	return workload.Env{Seed: 7, Log: t.Logf, Target: func(string) (load.Endpoint, error) {
		return load.Endpoint{Network: "tcp", Address: "127.0.0.1:1"}, nil
	}}
}

// everything is a run list with all operations.
const everything = "power-on 4, power-off 3, suspend 1, create 1, clone 1, delete 2, reconfigure 2, relocate 1, migrate 2, snapshot 1, revert 1, remove-snapshots 1, register 1"

func TestContract(t *testing.T) {
	t.Parallel()
	m := newMemory()
	workloadtest.Run(t, Kind(m.platforms()), workloadtest.Options{
		Settings: []parameter.Settings{
			{"vms": "16", "threads": "4"},
			{"vms": "40", "threads": "8", "per_host": "4", "run_list": everything},
			{"variant": "workflow", "threads": "4"},
			{"vms": "16", "rate": "200/s", "arrivals": "poisson", "threads": "16", "per_host": "8"},
		},
		Env:    m.env,
		Length: loadtest.Short(300 * time.Millisecond),
	})
	if len(m.vms) > 0 {
		t.Errorf("%d VMs are left", len(m.vms))
	}
}

// run prepares and runs a load of a while.
func run(t *testing.T, m *memory, settings parameter.Settings, then func()) *measure.Recorder {
	t.Helper()
	return runUntil(t, m, settings, load.Stage{Length: 400 * time.Millisecond, Interval: 100 * time.Millisecond, Seed: 3}, nil, then)
}

// runUntil runs a load until there is enough of it.
func runUntil(t *testing.T, m *memory, settings parameter.Settings, stage load.Stage, enough func(*measure.Recorder) bool, then func()) *measure.Recorder {
	t.Helper()
	l, err := Kind(m.platforms()).New(settings)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Prepare(t.Context(), m.env(t)); err != nil {
		t.Fatal(err)
	}
	m.mu.Lock()
	m.peak = 0 // of the preparation
	then()
	m.mu.Unlock()
	out := measure.NewRecorder(enough)
	if err := l.Run(t.Context(), m.env(t), stage, out); err != nil {
		t.Fatal(err)
	}
	return out
}

// check is a check by its name.
func check(out *measure.Recorder, name string) (measure.Check, bool) {
	for _, c := range out.Checks() {
		if c.Name == name {
			return c, true
		}
	}
	return measure.Check{}, false
}

// counts are the operations of a load by kind.
func counts(out *measure.Recorder) (by map[string]int64, all int64) {
	by = map[string]int64{}
	for _, i := range out.Intervals() {
		for _, s := range i.Samples {
			by[s.Class] += s.Operations
			all += s.Operations
		}
	}
	return by, all
}

// The shares of operations are those of the run list, the limit per host is kept, and the VMs are
// at the end what they were made.
func TestMix(t *testing.T) {
	t.Parallel()
	m := newMemory()
	settings, stage := parameter.Settings{"vms": "40", "threads": "12", "per_host": "2", "run_list": everything}, load.Stage{Length: time.Minute, Interval: 50 * time.Millisecond, Seed: 3}
	out := runUntil(t, m, settings, stage, func(r *measure.Recorder) bool {
		_, all := counts(r)
		return all >= 400
	}, func() {})
	by, all := counts(out)
	list, _ := parseList(everything)
	for _, s := range list {
		if got := float64(by[string(s.kind)]); got < s.part*float64(all)*.8-4 || got > s.part*float64(all)*1.2+4 {
			t.Errorf("%.0f of %d operations are %s, want a share of %.3f", got, all, s.kind, s.part)
		}
	}
	if m.peak > 2 {
		t.Errorf("%d operations in flight on a host, at most 2 were allowed", m.peak)
	}
	if c, _ := check(out, "data"); c.State != measure.Pass {
		t.Errorf("data: %+v", c)
	}
	if c, failed := check(out, "faults"); failed {
		t.Errorf("the platform refused: %+v", c)
	}
	sum := window(t, out, 0)
	for _, name := range []string{"run.mean", "run.max", "run.p50", "queue.mean", "held.mean", "migrate.run.mean"} {
		if _, has := sum.Values[name]; !has {
			t.Errorf("no %s", name)
		}
	}
	if ran := sum.Values["run.mean"]; math.Abs(ran/m.took.Seconds()-1) > .01 {
		t.Errorf("operations ran for %g s, the platform said %v", ran, m.took)
	}
}

// The platform never sees more operations on a host than per_host, and with enough threads as many.
func TestInFlightOfAHost(t *testing.T) {
	for _, limit := range []int{1, 2, 5, 8} {
		t.Run(fmt.Sprint(limit), func(t *testing.T) {
			t.Parallel()
			m := newMemory()
			m.took = 5 * time.Millisecond
			out := run(t, m, parameter.Settings{"vms": "96", "threads": "256", "per_host": fmt.Sprint(limit)}, func() {})
			if m.peak != limit {
				t.Errorf("%d operations were in flight on a host, %d were allowed and threads enough", m.peak, limit)
			}
			if c, failed := check(out, "faults"); failed {
				t.Errorf("the platform refused: %+v", c)
			}
			if seen := out.Observed(); seen["operations.threads"] != "256" || seen["operations.vms"] != "" {
				t.Errorf("read back: %v", seen)
			}
			if sum := window(t, out, 0); sum.Values["held.mean"] < sum.Values["run.mean"] {
				t.Errorf("of 256 threads on 4 hosts with %d each, operations are held for %g s and run for %g s", limit, sum.Values["held.mean"], sum.Values["run.mean"])
			}
		})
	}
}

// An open loop counts the wait for a host from when an operation was due: what a platform that stalls
// keeps waiting is not omitted.
func TestStallAtARate(t *testing.T) {
	t.Parallel()
	m := newMemory()
	began := time.Time{}
	out := run(t, m, parameter.Settings{"vms": "96", "threads": "256", "per_host": "8", "rate": "500/s", "timeout": "5s"}, func() {
		began = time.Now()
		m.slow = func() time.Duration { // all that is issued in these 50 ms ends at their end
			if since := time.Since(began); since > 40*time.Millisecond && since < 90*time.Millisecond {
				return 90*time.Millisecond - since
			}
			return 0
		}
	})
	sum := window(t, out, 0)
	if v := sum.Values; v["offered"] < 480 || v["offered"] > 520 || v["mean"] < v["service.mean"] || v["max"] < .03 {
		t.Errorf("offered %g/s; response mean %g and max %g s, service mean %g s", v["offered"], v["mean"], v["max"], v["service.mean"])
	}
	ended := sum.Histograms[""].Count() // those in flight at the end, too
	if c := sum.Counts; ended+c["errors"]+c["abandoned"] < c["scheduled"]-1 {
		t.Errorf("of %d operations that were due, %d ended, %d failed and %d were abandoned", c["scheduled"], ended, c["errors"], c["abandoned"])
	}
}

// window is what a load came to after a cut.
func window(t *testing.T, out *measure.Recorder, cut float64) *measure.Summary {
	t.Helper()
	all := out.Intervals()
	sum, err := measure.Summarise(all, measure.Window{Cut: cut, End: all[len(all)-1].To.Seconds()}, "operations")
	if err != nil {
		t.Fatal(err)
	}
	return sum
}

// Times and faults of the warm-up do not count.
func TestWarmUp(t *testing.T) {
	t.Parallel()
	m := newMemory()
	began := time.Time{}
	warm := func() bool { return time.Since(began) < 60*time.Millisecond }
	n := 0
	out := run(t, m, parameter.Settings{"vms": "32", "timeout": "2s"}, func() {
		began = time.Now()
		m.ran = func() time.Duration {
			if warm() {
				return 7 * time.Second
			}
			return time.Second
		}
		m.fail = func(management.Order) error {
			if n++; n%10 == 0 && warm() {
				return refuse("HostNotReachable")
			}
			return nil
		}
	})
	whole, after := window(t, out, 0), window(t, out, .15)
	if whole.Values["run.max"] < 7 || len(whole.Faults) == 0 {
		t.Errorf("the whole load has operations of %g s at most, and the faults %v", whole.Values["run.max"], whole.Faults)
	}
	if ran := after.Values["run.max"]; math.Abs(ran-1) > .01 || len(after.Faults) > 0 || after.Counts["operations"] == 0 {
		t.Errorf("after the warm-up the longest of %d operations took %g s, and there are the faults %v", after.Counts["operations"], ran, after.Faults)
	}
}

// What a platform acknowledges and does not do is noticed.
func TestLies(t *testing.T) {
	t.Parallel()
	for kind, word := range map[management.Kind]string{management.Migrate: "should be on h", management.Reconfigure: "CPU shares"} {
		m := newMemory()
		out := run(t, m, parameter.Settings{"vms": "16", "timeout": "2s"}, func() {
			m.lose = func(o management.Order) bool { return o.Kind == kind }
		})
		if c, _ := check(out, "data"); c.State != measure.Fail || !strings.Contains(c.Detail, word) {
			t.Errorf("%s: %+v", kind, c)
		}
	}
}

// Failures are counted by fault and do not end the load; VMs whose operations failed are not held
// against the platform.
func TestFaults(t *testing.T) {
	t.Parallel()
	m := newMemory()
	n := 0
	out := run(t, m, parameter.Settings{"vms": "32", "timeout": "2s"}, func() {
		m.fail = func(management.Order) error {
			if n++; n%10 == 0 {
				return refuse("HostNotReachable")
			}
			return nil
		}
	})
	c, _ := check(out, "faults")
	if c.State != measure.Unknown || !strings.Contains(c.Detail, "HostNotReachable") {
		t.Errorf("faults: %+v", c)
	}
	sum, told := window(t, out, 0), int64(0)
	for name, n := range sum.Faults {
		if told += n; !strings.HasSuffix(name, ": HostNotReachable") {
			t.Errorf("the fault %q", name)
		}
	}
	if failed := sum.Counts["errors"]; told == 0 || told < failed || told > failed+8 { // those that end with the load
		t.Errorf("%d faults of %d failed operations", told, failed)
	}
	if c, _ := check(out, "data"); c.State != measure.Pass {
		t.Errorf("data: %+v", c)
	}
	if _, all := counts(out); all < 50 {
		t.Errorf("%d operations succeeded", all)
	}
}

// A load whose operations all fail ends on time and says so.
func TestAllFails(t *testing.T) {
	t.Parallel()
	m := newMemory()
	began := time.Now()
	out := run(t, m, parameter.Settings{"vms": "8", "timeout": "20s"}, func() {
		m.fail = func(management.Order) error { return refuse("HostNotReachable") }
	})
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("it took %v", took)
	}
	if _, all := counts(out); all != 0 {
		t.Errorf("%d operations succeeded", all)
	}
}

// VMs of a load that was killed are removed by the next one, VMs of others are not.
func TestLeftovers(t *testing.T) {
	m := newMemory()
	l, _ := Kind(m.platforms()).New(parameter.Settings{"vms": "8"})
	for i, power := range []management.Power{management.On, management.Off, management.Suspended} {
		id := fmt.Sprintf("x%d", i)
		m.vms[id] = &kept{VM: management.VM{ID: id, Name: owner.Prefix + "killed-" + id, Host: "h1", Power: power, Snapshots: 1, Note: l.(*operations).mark()}}
		m.vms["o"+id] = &kept{VM: management.VM{ID: "o" + id, Name: owner.Prefix + "other-" + id, Host: "h1", Power: power, Note: "another owner"}}
		m.vms["u"+id] = &kept{VM: management.VM{ID: "u" + id, Name: "production" + id, Host: "h1", Power: power, Note: l.(*operations).mark()}}
	}
	if err := l.Prepare(t.Context(), m.env(t)); err != nil {
		t.Fatal(err)
	}
	if m.vms["x0"] != nil || m.vms["x1"] != nil || m.vms["x2"] != nil || len(m.vms) != 6+8 {
		t.Errorf("after Prepare there are %d VMs", len(m.vms))
	}
	if err := l.Clean(t.Context(), m.env(t)); err != nil || len(m.vms) != 6 {
		t.Errorf("after Clean there are %d VMs: %v", len(m.vms), err)
	}
}

// VMs with an operation in flight, as a lab that is interrupted leaves them, are removed when it has ended.
func TestBusyLeftovers(t *testing.T) {
	t.Parallel()
	m := newMemory()
	l, _ := Kind(m.platforms()).New(parameter.Settings{"vms": "8"})
	if err := l.Prepare(t.Context(), m.env(t)); err != nil {
		t.Fatal(err)
	}
	m.took = 300 * time.Millisecond
	for id, v := range m.vms {
		kind := management.PowerOff
		if v.Power == management.Off {
			kind = management.PowerOn
		}
		if _, err := m.Issue(t.Context(), management.Order{Kind: kind, VM: id}); err != nil {
			t.Fatal(err)
		}
	}
	m.took = time.Millisecond
	if err := l.Clean(t.Context(), m.env(t)); err != nil || len(m.vms) != 0 {
		t.Errorf("after Clean there are %d VMs: %v", len(m.vms), err)
	}
}

func TestSettingsThatAreRefused(t *testing.T) {
	for list, want := range map[string]string{
		"power-on":                            "weight of power-on",
		"power-on 2, power-off 1":             "weight of power-on",
		"create, delete 2":                    "weight of delete",
		"snapshot":                            "remove-snapshots",
		"revert 1":                            "revert needs snapshot",
		"fly 1":                               "no operation",
		"migrate 0":                           "from 1 to 1000",
		"migrate 1, migrate 2":                "twice",
		"migrate 1 2":                         "no operation with a weight",
		"":                                    "no operation with a weight",
		"migrate 99999999999999999999":        "from 1 to 1000",
		"snapshot 1, remove-snapshots 2":      "as many of snapshot",
		"power-on 1, power-off 1, relocate -": "from 1 to 1000",
	} {
		if _, err := parseList(list); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q gives %v", list, err)
		}
	}
	for _, s := range []parameter.Settings{{"variant": "workflow", "run_list": "migrate"}, {"owner": " "}, {"memory": "5000000B"}} {
		if _, err := Kind(newMemory().platforms()).New(s); err == nil {
			t.Errorf("%v is accepted", s)
		}
	}
}

// What a platform cannot do is refused before anything is created.
func TestPlatformsThatLackSomething(t *testing.T) {
	for want, c := range map[string]struct {
		lacks    func(m *memory)
		settings parameter.Settings
	}{
		"has no operation register":                 {func(m *memory) { m.rules.Lacks = []management.Kind{management.Register} }, parameter.Settings{"run_list": everything}},
		"connect one, or end its maintenance":       {func(m *memory) { m.hosts = []string{} }, nil},
		"remove migrate and relocate from run_list": {func(m *memory) { m.hosts = []string{"h1"} }, nil},
		"set disk":        {func(m *memory) { m.rules.DiskSnapshots = true }, parameter.Settings{"run_list": everything}},
		"grant it VM.Fly": {func(m *memory) { m.lacks = []string{"VM.Fly"} }, nil},
	} {
		m := newMemory()
		c.lacks(m)
		l, err := Kind(m.platforms()).New(c.settings)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := l.Check(t.Context(), m.env(t)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Check: %v, want %q", err, want)
		}
		err = l.Prepare(t.Context(), m.env(t))
		if refused := (*workload.Refused)(nil); !errors.As(err, &refused) || !strings.Contains(err.Error(), want) || len(m.vms) > 0 {
			t.Errorf("Prepare: %v, %d VMs, want %q", err, len(m.vms), want)
		}
	}
}

// A platform that keeps VMs with snapshots where they are, and clones only those that are off, is
// not asked for anything else.
func TestRulesOfAPlatform(t *testing.T) {
	t.Parallel()
	m := newMemory()
	out := run(t, m, parameter.Settings{"vms": "24", "threads": "8", "per_host": "4", "run_list": everything}, func() {
		m.rules.Fixed, m.rules.ColdClones = true, true
		m.fail = func(o management.Order) error {
			v := m.vms[o.VM]
			if v != nil && v.Snapshots > 0 && (o.Host != "" && o.Kind != management.Clone || o.Kind == management.Register) || o.Kind == management.Clone && v.Power != management.Off {
				return refuse("Refused")
			}
			return nil
		}
	})
	if c, failed := check(out, "faults"); failed {
		t.Errorf("%+v", c)
	}
	if by, _ := counts(out); by["migrate"] == 0 || by["clone"] == 0 || by["register"] == 0 {
		t.Errorf("operations %v", by)
	}
}

// VMs of another lab that runs are left alone.
func TestOtherLabs(t *testing.T) {
	m := newMemory()
	lab, err := owner.This(true)
	if err != nil {
		t.Fatal(err)
	}
	m.vms["x"] = &kept{VM: management.VM{ID: "x", Name: owner.Prefix + "x", Host: "h1", Power: management.Off, Note: owner.Note("plimsoll", lab)}}
	l, err := Kind(m.platforms()).New(nil)
	if err != nil {
		t.Fatal(err)
	}
	env := m.env(t)
	env.Machine = struct{ platform.Machine }{} // this process is a lab of its own
	if err := l.Prepare(t.Context(), env); err == nil || !strings.Contains(err.Error(), "set another owner") || len(m.vms) != 1 {
		t.Errorf("Prepare: %v, %d VMs", err, len(m.vms))
	}
	if err := l.Clean(t.Context(), env); err != nil || len(m.vms) != 1 {
		t.Errorf("Clean: %v, %d VMs", err, len(m.vms))
	}
}

func FuzzParseList(f *testing.F) {
	f.Add(everything)
	f.Add("migrate")
	f.Fuzz(func(t *testing.T, text string) {
		list, err := parseList(text)
		if err != nil {
			return
		}
		sum := 0.
		for _, s := range list {
			sum += s.part
		}
		if sum < .999999 || sum > 1.000001 {
			t.Errorf("the shares of %q add up to %g", text, sum)
		}
	})
}
