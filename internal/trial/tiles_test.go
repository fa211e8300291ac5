package trial

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"plimsoll/internal/effort"
	"plimsoll/internal/factor"
	"plimsoll/internal/load"
	"plimsoll/internal/measure"
	"plimsoll/internal/parameter"
	"plimsoll/internal/platform"
	"plimsoll/internal/service"
	"plimsoll/internal/study"
	"plimsoll/internal/workload"
)

// shared is a host that carries a known number of its loads: with more, the slow group is too slow, and all lose speed.
type shared struct {
	mu     sync.Mutex
	site   *site
	carry  int
	slow   string // group
	starve string // machine that is too slow whatever runs beside it
	die    string // machine whose load fails
	fails  string // machine with a failed operation in every interval
	few    bool   // the slow group completes one operation in an interval
}

type sharedLoad struct {
	settings sharedSettings
	on       *shared
}

type sharedSettings struct {
	Rate parameter.Rate `name:"rate" doc:"operations per second"`
}

func (s *sharedLoad) Demand() load.Demand {
	return load.Demand{Concurrency: int(float64(s.settings.Rate) * usual.Seconds())}
}
func (s *sharedLoad) Check(context.Context, workload.Env) (workload.Needs, error) {
	return workload.Needs{}, nil
}
func (s *sharedLoad) Prepare(context.Context, workload.Env) error { return nil }
func (s *sharedLoad) Clean(context.Context, workload.Env) error   { return nil }

// usual is the response time of loads that the host carries.
const usual = 10 * time.Millisecond

// tiles is how many run.
func (s *shared) tiles() (n int) {
	s.site.mu.Lock()
	defer s.site.mu.Unlock()
	last := s.site.asked[len(s.site.asked)-1]
	fmt.Sscanf(last[strings.Index(last, " ")+1:], "%d", &n)
	return n
}

func (s *sharedLoad) Run(_ context.Context, env workload.Env, stage load.Stage, out *measure.Recorder) error {
	name := env.Machine.Name()
	if name == s.on.die {
		return errors.New("it broke")
	}
	response, n := usual, int64(float64(s.settings.Rate)*stage.Interval.Seconds())
	if over := s.on.tiles() - s.on.carry; over > 0 {
		n -= n / 10
		if strings.HasPrefix(name, s.on.slow) {
			if response *= 3; s.on.few {
				n = 1
			}
		}
	}
	if name == s.on.starve {
		response *= 5
	}
	for i := range int(stage.Length / stage.Interval) {
		from := time.Duration(i) * stage.Interval
		h := measure.NewHistogram()
		h.Record(response, n)
		sample := measure.Sample{Operations: n, Total: time.Duration(n) * response, Latency: h}
		if name == s.on.fails {
			sample.Errors = 1
		}
		more := out.Interval(measure.Interval{From: from, To: from + stage.Interval, Samples: []measure.Sample{sample}})
		if !more && strings.HasPrefix(name, "site") { // in real time the shops get as far as the sites
			return nil
		}
	}
	return nil
}

func tileRig(t *testing.T, host *shared) *Bench {
	t.Setenv("XDG_STATE_HOME", memory(t))
	r := newRig(t)
	host.site = &site{machine: r.machine, root: filepath.Join(r.root, "site")}
	most := .02
	limits := []study.Limit{{Metric: "p95", Unit: "s", Max: &most}}
	st := &study.Study{
		Name: "tiles", Platform: study.Use{Kind: "fake"}, Workload: study.Use{Kind: "shared", Settings: parameter.Settings{"rate": "1000/s"}},
		Groups: []study.Group{
			{Name: "site", Machines: 1, Subject: true, Limits: limits, Reference: 1000},
			{Name: "shop", Machines: 1, Workload: &study.Use{Kind: "shared", Settings: parameter.Settings{"rate": "500/s"}}, Limits: limits, Reference: 500},
		},
		Load:     study.Load{Growth: &study.Growth{Unit: study.TileUnit, From: 1, Step: 1, To: 12}},
		Measure:  study.Measure{Blocks: 1, Window: time.Second, Longest: 10 * time.Second, Interval: 100 * time.Millisecond, Retries: 1},
		Headline: []string{"tiles", "score.applications"}, Margin: .02,
	}
	b := r.bench(t, st, 1)
	b.Platform = host.site
	b.Catalog.Workloads = append(b.Catalog.Workloads, workload.Define(workload.Kind{Name: "shared", Rate: "ops", Metrics: measure.OperationMetrics("ops")}, sharedSettings{},
		func(s sharedSettings) (workload.Load, error) { return &sharedLoad{s, host}, nil }))
	return b
}

// tileRecord is the record of the only trial.
func tileRecord(t *testing.T, b *Bench) measure.Record {
	t.Helper()
	all := (&rig{root: filepath.Dir(b.Dir)}).records(t)
	if len(all) != 1 {
		t.Fatalf("%d trials; the first is void: %s", len(all), all[0].Void)
	}
	return all[0]
}

// On a host of known capacity a growth finds the number of tiles exactly, and their score; it names the group that
// misses its limit with one more.
func TestTilesOfAKnownHost(t *testing.T) {
	sizes := []int{3}
	if effort.Full() {
		sizes = []int{1, 4, 11}
	}
	for _, carry := range sizes {
		b := tileRig(t, &shared{carry: carry, slow: "shop"})
		if err := b.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		r := tileRecord(t, b)
		if !r.Valid() || r.Values["tiles"] != float64(carry) {
			t.Fatalf("%d tiles are carried; found %v, void %q", carry, r.Values, r.Void)
		}
		if got := r.Values[measure.Score]; math.Abs(got/float64(carry)-1) > .02 {
			t.Errorf("%d tiles score %g", carry, got)
		}
		if r.Values[measure.Fairness] < .999 || math.Abs(r.Values[measure.Worst]-1) > .02 || r.Values[measure.Kept] != 1 {
			t.Errorf("%d tiles: %v", carry, r.Values)
		}
		if !strings.HasPrefix(r.Peak.Limiting, "shop of tile ") {
			t.Errorf("%d tiles are limited by %q", carry, r.Peak.Limiting)
		}
	}
}

// lamps is a platform whose machines have a lamp each as their service. None ends with its lamp on.
type lamps struct {
	*site
	on map[string]bool
}

func (l *lamps) Members(ctx context.Context, groups ...platform.Group) ([][]platform.Machine, error) {
	return platform.InTurn(groups, l.members)
}

func (l *lamps) members(g platform.Group) ([]platform.Machine, error) {
	for name := range l.on {
		if n := 0; strings.HasPrefix(name, g.Name+"-") {
			if _, err := fmt.Sscanf(name, g.Name+"-%d", &n); err != nil || n > g.Machines {
				return nil, fmt.Errorf("%s ends with its lamp on, %v", name, err)
			}
		}
	}
	return l.site.members(g)
}

// lamp is on while it runs.
type lamp struct {
	shelf
	of   *lamps
	name string
}

func (l lamp) Start(_ context.Context, env service.Env) (service.Instance, error) {
	l.name = env.Machine.Name()
	l.of.on[l.name] = true
	return l, nil
}

func (l lamp) Stop(context.Context) error {
	delete(l.of.on, l.name)
	return nil
}

// lit is a study of tiles on such machines, where three tiles are carried.
func lit(t *testing.T) (*Bench, *shared, *lamps) {
	host := &shared{carry: 3, slow: "shop"}
	b := tileRig(t, host)
	with := &lamps{host.site, map[string]bool{}}
	b.Platform, b.Study.Measure.Retries = with, 0
	for i := range b.Study.Groups {
		b.Study.Groups[i].Service = &study.Use{Kind: "lamp"}
	}
	b.Catalog.Services = []service.Kind{service.Define(service.Kind{Name: "lamp", Doc: "lights", Speaks: []string{"light"}}, struct{}{},
		func(struct{}) (service.Service, error) { return lamp{of: with}, nil })}
	return b, host, with
}

// The service of a tile stops before its machine ends, also where the next trial begins with fewer tiles.
func TestServicesStopBeforeTheirMachinesEnd(t *testing.T) {
	b, host, with := lit(t)
	b.Study.Measure.Blocks, b.Plan = 2, planOf(b.Study, 2)
	if err := b.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	all := (&rig{root: filepath.Dir(b.Dir)}).records(t)
	if len(all) != 2 || !all[0].Valid() || !all[1].Valid() || len(with.on) > 0 {
		t.Fatalf("%d trials, %d lamps are on", len(all), len(with.on))
	}
	if !slices.Contains(host.site.asked, "shop 4") {
		t.Errorf("there were never 4 tiles: %v", host.site.asked)
	}
}

// The service of a tile stops before a factor restarts its machine.
func TestServicesStopBeforeTheirMachinesRestart(t *testing.T) {
	b, _, with := lit(t)
	size := knob("host.one", nil)
	set := size.Set
	size.Set = func(ctx context.Context, env factor.Env, level string) error {
		if name := env.Machine.Name(); with.on[name] {
			return fmt.Errorf("%s restarts with its lamp on", name)
		}
		return set(ctx, env, level)
	}
	b.Catalog.Factors = []factor.Factor{size}
	b.Study.Factors = []study.Factor{{Name: "host.one", Levels: []string{"on", "off"}, Restart: true}}
	b.Plan = planOf(b.Study, 1)
	if err := b.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	all := (&rig{root: filepath.Dir(b.Dir)}).records(t)
	if len(all) != 2 || !all[0].Valid() || !all[1].Valid() || len(with.on) > 0 {
		t.Fatalf("%d trials, %d lamps are on", len(all), len(with.on))
	}
}

// One member that is starved is the end, by name.
func TestAStarvedMember(t *testing.T) {
	b := tileRig(t, &shared{carry: 12, starve: "site-3"})
	if err := b.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	r := tileRecord(t, b)
	if r.Values["tiles"] != 2 || r.Peak.Limiting != "site of tile 3: p95 was 50 ms, limit 20 ms" {
		t.Errorf("got %v, limited by %q", r.Values, r.Peak.Limiting)
	}
	for _, p := range r.Probes {
		if !p.Passed && p.Limiting != "site.p95" {
			t.Errorf("a probe was limited by %q", p.Limiting)
		}
	}
}

// A member that completes too few operations for its limit, where fewer tiles complete enough, is the end and no mistake of the study.
func TestAMemberWithTooFewOperations(t *testing.T) {
	b := tileRig(t, &shared{carry: 3, slow: "shop", few: true})
	if err := b.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	r := tileRecord(t, b)
	if want := "shop of tile 1 completed too few operations for p95, the slowest took 30.02 ms, limit 20 ms"; r.Values["tiles"] != 3 || r.Peak.Limiting != want {
		t.Errorf("got %v, limited by %q, void %q", r.Values, r.Peak.Limiting, r.Void)
	}
}

// A member whose load fails voids the trial, with its name.
func TestADeadMember(t *testing.T) {
	b := tileRig(t, &shared{carry: 12, die: "shop-2"})
	err := b.Run(t.Context())
	all := (&rig{root: filepath.Dir(b.Dir)}).records(t)
	if len(all) == 0 || all[0].Valid() || !strings.Contains(all[0].Void, "shop-2") || !strings.Contains(all[0].Void, "it broke") {
		t.Errorf("%+v, %v", all, err)
	}
}

// Tiles without a search have the metrics of their groups, and a limit that is missed is told.
func TestTilesAtOnce(t *testing.T) {
	b := tileRig(t, &shared{carry: 12, starve: "shop-2"})
	b.Study.Load.Growth = nil
	for i := range b.Study.Groups {
		b.Study.Groups[i].Machines = 3
	}
	if err := b.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	r := tileRecord(t, b)
	if !r.Valid() {
		t.Fatal(r.Void)
	}
	for name, want := range map[string]float64{"site.ops": 3000, "shop.ops": 1500, "score.applications": 3, "tiles": 2, "kept": 5. / 6} {
		if got := r.Values[name]; math.Abs(got-want) > .02*want {
			t.Errorf("%s is %g, want %g", name, got, want)
		}
	}
	if !strings.Contains(strings.Join(r.Warnings, "\n"), "shop of tile 2: p95 was 50 ms") {
		t.Errorf("warnings %q", r.Warnings)
	}
}

// Failed operations of a group that limits them are held against that limit alone, and void a trial otherwise.
func TestTilesWithFailedOperations(t *testing.T) {
	for _, c := range []struct {
		limit float64 // of failed operations per second; 0 for none
		void  bool
		tiles float64
	}{{0, true, 0}, {1e6, false, 1}, {1e-9, false, 0}} {
		for _, machine := range []string{"site-1", "shop-1"} {
			b := tileRig(t, &shared{carry: 12, fails: machine})
			b.Study.Load.Growth, b.Study.Measure.Retries = nil, 0
			b.Study.Headline = append(b.Study.Headline, "shop.ops")
			for i := range b.Study.Groups {
				if g := &b.Study.Groups[i]; c.limit > 0 {
					g.Limits = append(slices.Clone(g.Limits), study.Limit{Metric: "errors", Unit: "1/s", Max: &c.limit})
				}
			}
			err := b.Run(t.Context())
			all := (&rig{root: filepath.Dir(b.Dir)}).records(t)
			if len(all) != 1 || all[0].Valid() == c.void {
				t.Errorf("%s with a limit of %g: %+v, %v", machine, c.limit, all, err)
				continue
			}
			if got := all[0].Values["tiles"]; !c.void && got != c.tiles {
				t.Errorf("%s with a limit of %g: %g tiles", machine, c.limit, got)
			}
		}
	}
}
