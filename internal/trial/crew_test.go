package trial

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"plimsoll/internal/load"
	"plimsoll/internal/measure"
	"plimsoll/internal/parameter"
	"plimsoll/internal/plan"
	"plimsoll/internal/platform"
	"plimsoll/internal/study"
	"plimsoll/internal/trial/journal"
	"plimsoll/internal/trial/restore"
	"plimsoll/internal/workload"
)

// site is a platform of fake machines, each with a folder of its own.
type site struct {
	*machine
	root  string
	mu    sync.Mutex
	asked []string // groups with their numbers, in order
}

type node struct {
	*machine
	name string
}

func (n *node) Name() string { return n.name }

var nodeFormers = map[string]string{"host.one": "a former", "host.two": "another former"}

func (s *site) Members(_ context.Context, groups ...platform.Group) ([][]platform.Machine, error) {
	return platform.InTurn(groups, s.members)
}

func (s *site) members(g platform.Group) (all []platform.Machine, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = append(s.asked, fmt.Sprintf("%s %d", g.Name, g.Machines))
	for i := range g.Machines {
		m := &node{&machine{root: filepath.Join(s.root, fmt.Sprintf("%s-%d", g.Name, i+1))}, fmt.Sprintf("%s-%d", g.Name, i+1)}
		if _, err := os.Stat(m.root); err != nil {
			if err := os.MkdirAll(m.root, 0o755); err != nil {
				return nil, err
			}
			for name, level := range nodeFormers {
				if err := os.WriteFile(filepath.Join(m.root, name), []byte(level), 0o644); err != nil {
					return nil, err
				}
			}
		}
		all = append(all, m)
	}
	return all, nil
}

// uneven is a workload each of whose machines is half as fast as the one before it. It says
// where it ran, and never ends by itself where it keeps company.
type uneven struct {
	settings unevenSettings
	seen     *seen
}

type unevenSettings struct {
	Rate parameter.Rate `name:"rate" doc:"offered"`
	Fail string         `name:"fail" doc:"the machine that fails"`
}

type seen struct {
	mu    sync.Mutex
	ran   []string
	seeds []uint64
	rates []parameter.Rate
	quirk string // of the noisy machines: errors, a failed check, or an early end
}

func (u *uneven) Demand() load.Demand { return load.Demand{Concurrency: 1} }
func (u *uneven) Check(context.Context, workload.Env) (workload.Needs, error) {
	return workload.Needs{}, nil
}

func (u *uneven) Prepare(_ context.Context, env workload.Env) error {
	return os.WriteFile(filepath.Join(env.Dir, "data"), nil, 0o644)
}

func (u *uneven) Clean(_ context.Context, env workload.Env) error {
	return os.Remove(filepath.Join(env.Dir, "data"))
}

func (u *uneven) Run(ctx context.Context, env workload.Env, stage load.Stage, out *measure.Recorder) error {
	name := env.Machine.Name()
	u.seen.mu.Lock()
	u.seen.ran, u.seen.seeds, u.seen.rates = append(u.seen.ran, name), append(u.seen.seeds, env.Seed), append(u.seen.rates, u.settings.Rate)
	u.seen.mu.Unlock()
	if name == u.settings.Fail {
		return errors.New("it broke")
	}
	n := int64(1 << 10)
	if strings.HasSuffix(name, "2") {
		n /= 2
	}
	quirk, intervals := "", 10
	if strings.HasPrefix(name, "noisy") {
		quirk = u.seen.quirk
	}
	switch quirk {
	case "early":
		intervals = 5
	case "check":
		out.Check(measure.Check{Name: "open loop", State: measure.Fail, Detail: "too little was offered"})
	}
	for i := range intervals {
		from := time.Duration(i) * stage.Interval
		failed := int64(0)
		if quirk == "errors" && i == 1 {
			failed = 3
		}
		h := measure.NewHistogram()
		h.Record(stage.Interval/time.Duration(n), n)
		more := out.Interval(measure.Interval{From: from, To: from + stage.Interval, Samples: []measure.Sample{{Operations: n, Errors: failed, Latency: h}}})
		if !more && !strings.HasPrefix(name, "noisy") { // in real time the noisy ones get as far as the quiet ones
			return nil
		}
	}
	if strings.HasPrefix(name, "noisy") && quirk != "early" { // it goes on until it is told that this is enough
		for i := 10; ; i++ {
			from := time.Duration(i) * stage.Interval
			if ctx.Err() != nil || !out.Interval(measure.Interval{From: from, To: from + stage.Interval}) {
				return ctx.Err()
			}
			<-time.After(time.Millisecond)
		}
	}
	return nil
}

func groupRig(t *testing.T, fail string) (*site, *Bench, *seen) {
	t.Setenv("XDG_STATE_HOME", memory(t))
	r := newRig(t)
	s := &site{machine: r.machine, root: filepath.Join(r.root, "site")}
	noted := &seen{}
	st := &study.Study{
		Name: "groups", Platform: study.Use{Kind: "fake"}, Workload: study.Use{Kind: "uneven", Settings: parameter.Settings{"rate": "100/s"}},
		Groups: []study.Group{
			{Name: "quiet", Machines: 2, Subject: true},
			{Name: "noisy", Machines: 1, Workload: &study.Use{Kind: "uneven", Settings: parameter.Settings{"fail": fail}}},
		},
		Factors: []study.Factor{
			{Name: "host.one", Levels: []string{"on"}}, {Name: "host.two", Target: "quiet", Levels: []string{"1"}},
			{Name: study.MachinesFactor, Target: "noisy", Levels: []string{"1", "2"}},
		},
		Measure:  study.Measure{Window: time.Second, Longest: time.Second, Interval: 100 * time.Millisecond},
		Headline: []string{"ops"}, Margin: .02,
	}
	b := r.bench(t, st, 1)
	b.Platform = s
	b.Catalog.Workloads = append(b.Catalog.Workloads, workload.Define(workload.Kind{Name: "uneven", Rate: "ops", Metrics: measure.OperationMetrics("ops")}, unevenSettings{},
		func(u unevenSettings) (workload.Load, error) { return &uneven{u, noted}, nil }))
	return s, b, noted
}

func TestGroupsAddUp(t *testing.T) {
	s, b, noted := groupRig(t, "")
	if err := b.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	r := &rig{root: filepath.Dir(b.Dir)}
	for _, rec := range r.records(t) {
		if !rec.Valid() {
			t.Fatalf("trial %d is void: %s", rec.Trial, rec.Void)
		}
		near := func(metric string, want float64) {
			t.Helper()
			if got := rec.Values[metric]; math.Abs(got-want) > .02*want {
				t.Errorf("trial %d: %s is %g, want %g", rec.Trial, metric, got, want)
			}
		}
		neighbours := map[string]float64{"1": 10240, "2": 15360}[rec.Levels["machines:noisy"]]
		near("ops", 15360)
		near("noisy.ops", neighbours)
		near("all.ops", 15360+neighbours)
		near("all.p50", rec.Values["p50"])
		if got, want := rec.Counts["all.operations"], rec.Counts["operations"]+rec.Counts["noisy.operations"]; got != want {
			t.Errorf("trial %d: %d operations of all groups, and %d of the groups", rec.Trial, got, want)
		}
		near("fairness", .9)
		near("least", 5120)
		if want := len(strings.Fields("quiet-1 quiet-2 noisy-1")) + int(neighbours/15360); len(rec.Parts) != want || rec.Parts[1].Machine != "quiet-2" || rec.Parts[1].Group != "quiet" {
			t.Errorf("trial %d has parts %+v", rec.Trial, rec.Parts)
		}
		if rec.Observed["host.one"] != "on" || rec.Observed["host.two:quiet"] != "1" || rec.Observed["machines:noisy"] != rec.Levels["machines:noisy"] {
			t.Errorf("trial %d observed %v", rec.Trial, rec.Observed)
		}
		if _, said := rec.Parts[0].Values["start.late"]; !said {
			t.Errorf("trial %d: nobody says when %s began", rec.Trial, rec.Parts[0].Machine)
		}
	}
	// The subject's machines share the rate of the study, and hold data of their own.
	for i, name := range noted.ran {
		if want := map[bool]parameter.Rate{true: 50, false: 0}[strings.HasPrefix(name, "quiet")]; noted.rates[i] != want {
			t.Errorf("%s was offered %v, want %v", name, noted.rates[i], want)
		}
		if first := strings.HasSuffix(name, "1"); (noted.seeds[i] == b.Plan.Seed) != first {
			t.Errorf("%s has data of seed %d", name, noted.seeds[i])
		}
	}
	// Everything is put back on each machine, and nothing of ours is left.
	for _, name := range []string{"quiet-1", "quiet-2", "noisy-1", "noisy-2"} {
		for file, former := range nodeFormers {
			if text, err := os.ReadFile(filepath.Join(s.root, name, file)); err != nil || string(text) != former {
				t.Errorf("%s has %s at %q, %v", name, file, text, err)
			}
		}
	}
	if _, err := os.Stat(b.Scratch); err == nil {
		t.Error("the scratch folder is left")
	}
}

func TestAGroupThatFailsVoidsTheTrial(t *testing.T) {
	_, b, _ := groupRig(t, "noisy-1")
	err := b.Run(t.Context())
	r := &rig{root: filepath.Dir(b.Dir)}
	records := r.records(t)
	if err != nil || len(records) == 0 {
		t.Fatalf("%d trials, %v", len(records), err)
	}
	for _, rec := range records {
		if !strings.Contains(rec.Void, "noisy-1") || !strings.Contains(rec.Void, "it broke") {
			t.Errorf("void is %q", rec.Void)
		}
	}
}

func TestADeadRunOfGroupsIsRestored(t *testing.T) {
	s, b, _ := groupRig(t, "")
	ctx, cancel := context.WithCancel(t.Context())
	b.step = func(name string) {
		if name == "before write trial" {
			cancel()
			runtime.Goexit() // the power is gone
		}
	}
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		_ = b.Run(ctx)
	}()
	<-gone
	changed := 0
	for _, name := range []string{"quiet-1", "quiet-2", "noisy-1"} {
		if text, err := os.ReadFile(filepath.Join(s.root, name, "host.one")); err == nil && string(text) == "on" {
			changed++
		}
	}
	if changed != 3 {
		t.Fatalf("%d machines were changed when the power went", changed)
	}
	said, err := restoredFrom(t.Context(), b, s)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(said, `host.one on quiet-2 put back from "on" to "a former"`) {
		t.Errorf("said %q", said)
	}
	for _, name := range []string{"quiet-1", "quiet-2", "noisy-1"} {
		for file, former := range nodeFormers {
			if text, err := os.ReadFile(filepath.Join(s.root, name, file)); err != nil || string(text) != former {
				t.Errorf("%s has %s at %q, %v", name, file, text, err)
			}
		}
	}
	if left, _ := filepath.Glob(filepath.Join(b.Scratch, "*")); len(left) > 0 {
		t.Errorf("left in the scratch folder: %v", left)
	}
	b.Catalog.Platforms = []platform.Kind{{Name: "fake", Fleeting: func(parameter.Settings) bool { return true }}}
	if said, err := restoredFrom(t.Context(), b, s); err != nil || len(said) != 0 {
		t.Errorf("a second time: %q, %v", said, err)
	}
}

func TestAPlatformOfOneMachineRefusesSeveral(t *testing.T) {
	_, b, _ := groupRig(t, "")
	b.Platform = b.Platform.(*site).machine
	if err := b.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "has one machine") {
		t.Errorf("got %v", err)
	}
}

// restoredFrom restores the run of a bench, where it left anything.
func restoredFrom(ctx context.Context, b *Bench, p platform.Platform) ([]string, error) {
	logs, err := journal.LogsOf(b.Dir, b.Undo)
	if err != nil || len(logs) == 0 {
		return nil, err
	}
	return restore.Restore(ctx, restore.Restoration{Log: logs[0], Catalog: b.Catalog, Open: func(context.Context, study.Use, uint64) (platform.Platform, error) { return p, nil }})
}

// A group beside the subject whose operations fail, or whose load ends early, voids a trial that its work decides.
func TestAGroupThatDecidesMustBeSound(t *testing.T) {
	for _, c := range []struct{ name, headline, quirk, want string }{
		{"failures do not decide", "ops", "errors", ""},
		{"failures decide", "all.ops", "errors", "workload uneven on noisy-1: 3 failed operations, warm-up included"},
		{"failures of the group itself", "noisy.ops", "errors", "workload uneven on noisy-1: 3 failed operations, warm-up included"},
		{"a failed check", "all.ops", "check", "workload uneven on noisy-1: open loop: too little was offered"},
		{"an early end", "ops", "early", "workload uneven on noisy-1: it ended after 0.5 s, and the window after 1 s"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, b, noted := groupRig(t, "")
			b.Study.Headline, b.Study.Factors, b.Study.Groups[0].Machines = []string{c.headline}, b.Study.Factors[:1], 1
			b.Study.Measure.Retries, noted.quirk = 1, c.quirk
			if b.Plan, _ = plan.New(b.Study, 1); b.Plan == nil {
				t.Fatal("no plan")
			}
			err := b.Run(t.Context())
			records := (&rig{root: filepath.Dir(b.Dir)}).records(t)
			if len(records) == 0 || err != nil {
				t.Fatalf("%d records, %v", len(records), err)
			}
			if void := records[0].Void; c.want == "" && void != "" || !strings.Contains(void, c.want) {
				t.Errorf("void is %q, want %q", void, c.want)
			}
		})
	}
}
