package tune_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"plimsoll/internal/factor"
	"plimsoll/internal/finding"
	"plimsoll/internal/finding/judge"
	"plimsoll/internal/finding/rule"
	"plimsoll/internal/finding/table"
	"plimsoll/internal/load"
	"plimsoll/internal/measure"
	"plimsoll/internal/parameter"
	"plimsoll/internal/plan"
	"plimsoll/internal/platform"
	"plimsoll/internal/platforms/sim"
	"plimsoll/internal/study"
	"plimsoll/internal/study/file"
	"plimsoll/internal/trial"
	"plimsoll/internal/tune"
	"plimsoll/internal/workload"
	"plimsoll/internal/workload/storage"
)

var catalog = &study.Catalog{
	Workloads: []workload.Kind{storage.Kind()}, Platforms: []platform.Kind{sim.Kind()}, Factors: []factor.Factor{sim.Knob()},
}

// simulated runs studies on a simulated platform, as the product does, and judges
// them by the given rules.
func simulated(t *testing.T, rules []rule.Rule) func(context.Context, *study.Study, uint64, string) (*finding.Findings, error) {
	if rules == nil {
		rules = rule.All()
	}
	t.Helper()
	kind := storage.Kind()
	defaults := map[string]string{}
	for _, f := range parameter.Fields(kind.Defaults) {
		if rules == nil {
			rules = rule.All()
		}
		defaults[f.Name] = f.Default
	}
	return func(ctx context.Context, s *study.Study, seed uint64, dir string) (*finding.Findings, error) {
		p, err := plan.New(s, seed)
		if err != nil {
			return nil, err
		}
		platform, err := sim.Kind().Open(ctx, s.Platform.Settings, seed)
		if err != nil {
			return nil, err
		}
		defer platform.Close()
		bench := &trial.Bench{Study: s, Plan: p, Catalog: catalog, Platform: platform, Dir: dir, Scratch: filepath.Join(dir, "scratch")}
		if err := bench.Run(ctx); err != nil {
			return nil, err
		}
		folder := measure.OpenResults(dir)
		c := table.Case{Plan: p, Study: s, Metrics: kind.Metrics, Rate: kind.Rate, Disks: kind.Disks, Defaults: defaults, Demands: map[int]load.Demand{}}
		for number := 1; ; number++ {
			r, err := folder.Record(number, "")
			if errors.Is(err, fs.ErrNotExist) {
				break
			}
			if err != nil {
				return nil, err
			}
			c.Records = append(c.Records, *r)
		}
		for _, a := range p.Arms {
			l, err := kind.New(s.Settings(a.Levels))
			if err != nil {
				return nil, err
			}
			c.Demands[a.Index] = l.Demand()
		}
		return judge.Study(c, rules), nil
	}
}

func asked(t *testing.T, settings string) *study.Study {
	t.Helper()
	return aiming(t, settings, "1", "iops", "{most: iops}")
}

func aiming(t *testing.T, settings, threads, headline, goal string) *study.Study {
	t.Helper()
	text := `study: simulated
question: What holds it back?
platform: {sim: {` + settings + `}}
workload: {storage: {threads: ` + threads + `}}
measure: {warmup: 0s, window: 1s, interval: 100ms, longest: 1s}
headline: [` + headline + `]
goal: ` + goal + `
`
	s, err := file.Parse("simulated.yaml", []byte(text), catalog, nil)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Four servers can do four operations at once: the loop finds it out, and that
// eight are not better.
func TestTuneOnASimulatedPlatform(t *testing.T) {
	tuning, err := tune.Run(t.Context(), tune.Tune{
		Study: asked(t, "capacity: 4000/s, servers: 4, noise: 1%"), Seed: 7, Dir: results(t), Measure: simulated(t, nil),
	})
	if err != nil {
		t.Fatal(err)
	}
	var story []string
	for _, r := range tuning.Rounds {
		line := string(r.Outcome)
		if r.Recommendation != nil {
			c := r.Recommendation.Change
			line = fmt.Sprintf("%s %s -> %s %s", c.Factor, c.From, c.To, r.Outcome)
		}
		story = append(story, line)
	}
	want := "storage.threads 1 -> 2 kept\nstorage.threads 2 -> 4 kept\nstorage.threads 4 -> 8 rolled back\nno rule fired"
	if got := strings.Join(story, "\n"); got != want || tuning.Final["storage.threads"] != "4" {
		t.Errorf("final %v, story\n%s\nwant\n%s\n%s", tuning.Final, got, want, tuning.Sentence.Text)
	}
}

// With far more workers than servers, the loop for low latency halves them on fresh
// blocks until that no longer helps, or breaks the floor of throughput: such a step
// is rolled back. Where the floor fails from the start, nothing is tried.
func TestTuneForLowLatencyOnASimulatedPlatform(t *testing.T) {
	for _, one := range []struct {
		name, servers, threads, floor string
		story, last, reason           string
	}{
		{
			"to the number of servers", "4", "32", "3600/s",
			"32 -> 16 kept, 16 -> 8 kept, 8 -> 4 kept, 4 -> 2 rolled back", "4", "fresh blocks do not confirm a gain",
		},
		{
			"a step breaks the floor", "12", "64", "3600/s",
			"64 -> 32 kept, 32 -> 16 kept, 16 -> 8 rolled back", "16", "the floor iops >= 3600/s is violated",
		},
		{"the floor fails from the start", "4", "32", "8000/s", "", "", ""},
	} {
		t.Run(one.name, func(t *testing.T) {
			s := aiming(t, "capacity: 4000/s, noise: 1%, servers: "+one.servers, one.threads, "mean", "{least: mean, floor: {iops: "+one.floor+"}}")
			tuning, err := tune.Run(t.Context(), tune.Tune{Study: s, Seed: 6, Dir: results(t), Measure: simulated(t, nil)})
			if err != nil {
				t.Fatal(err)
			}
			reason := ""
			var story []string
			for _, r := range tuning.Rounds {
				if r.Recommendation == nil {
					continue
				}
				c := r.Recommendation.Change
				story = append(story, fmt.Sprintf("%s -> %s %s", c.From, c.To, r.Outcome))
				if r.Seed == r.MeasuredSeed || r.Verified == r.Measured {
					t.Errorf("%s -> %s was not verified on fresh blocks", c.From, c.To)
				}
				if saved := 1 - r.Verification.Ratio; r.Outcome == finding.Kept && (r.Bound > saved || r.Bound < saved-.1) {
					t.Errorf("%s -> %s saves %v of the mean, at least %v", c.From, c.To, saved, r.Bound)
				}
				reason = r.Reason
			}
			if reason != one.reason {
				t.Errorf("the last change: %q, want %q", reason, one.reason)
			}
			if got := strings.Join(story, ", "); got != one.story || tuning.Final["storage.threads"] != one.last {
				t.Errorf("final %v, story %q, want %q\n%s", tuning.Final, got, one.story, tuning.Sentence.Text)
			}
		})
	}
}

// A wrong rule turns a knob. Whether it is kept is for fresh blocks to say.
func TestAWrongRuleOnASimulatedPlatform(t *testing.T) {
	wrong := []rule.Rule{{Name: "wrong", Check: func(c *rule.Case, arm int) *rule.Found {
		if c.Table.Plan.Arms[arm].Levels["sim.knob"] == "on" {
			return nil
		}
		return &rule.Found{Says: "Turn the knob.", Grade: finding.MovedWith, Change: &finding.Change{Factor: "sim.knob", From: "off", To: "on"}}
	}}}
	seeds := uint64(3)
	if os.Getenv("PLIMSOLL_DEEP") == "1" {
		seeds = 400
	}
	for _, c := range []struct {
		name, settings string
		least, most    uint64
	}{
		{"useless", "capacity: 2000/s, servers: 1, noise: 1%", 0, max(1, seeds*5/100)},
		{"useful", "capacity: 2000/s, servers: 1, noise: 1%, effects: ['sim.knob=on: +5%']", seeds * 90 / 100, seeds},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := asked(t, c.settings)
			s.Measure.Blocks = 8
			kept := uint64(0)
			for seed := range seeds {
				tuning, err := tune.Run(t.Context(), tune.Tune{Study: s, Seed: seed, Dir: results(t), Measure: simulated(t, wrong)})
				if err != nil {
					t.Fatal(err)
				}
				if tuning.Rounds[0].Outcome == finding.Kept {
					kept++
				}
			}
			if kept < c.least || kept > c.most {
				t.Errorf("kept %d of %d, want %d to %d", kept, seeds, c.least, c.most)
			}
		})
	}
}

// results is a folder for results, in memory where the system has such a place:
// each trial is synced to disk, which is not what is tested here.
func results(t *testing.T) string {
	t.Helper()
	if info, err := os.Stat("/dev/shm"); err != nil || !info.IsDir() {
		return t.TempDir()
	}
	dir, err := os.MkdirTemp("/dev/shm", "plimsoll-tune-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// Knobs of a simulated machine race through plan, trials and analysis as settings of a real one do.
func TestCandidatesOnASimulatedPlatform(t *testing.T) {
	s := asked(t, "capacity: 2000/s, servers: 1, noise: 1%, effects: ['sim.knob:x=low: +6%', 'sim.knob:x=high: +15%', 'sim.knob:y=on: -10%']")
	s.Measure.Blocks = 8
	knob := func(name string, levels ...string) study.Factor {
		return study.Factor{Name: "sim.knob", Target: name, Levels: levels}
	}
	tuning, err := tune.Run(t.Context(), tune.Tune{
		Study: s, Seed: 5, Dir: results(t), Measure: simulated(t, []rule.Rule{}),
		Candidates: []study.Factor{knob("x", "off", "low", "high"), knob("y", "off", "on"), knob("z", "off", "on")},
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(tuning.Final) != 1 || tuning.Final["sim.knob:x"] != "high" || len(tuning.Searches) != 1 || tuning.Searches[0].Levels[1].Outcome != "suggested" {
		t.Errorf("final %v, searches %+v", tuning.Final, tuning.Searches)
	}
}
