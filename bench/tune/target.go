package tune

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"plimsoll/internal/catalog"
	"plimsoll/internal/finding"
	"plimsoll/internal/finding/compare"
	"plimsoll/internal/lab"
	"plimsoll/internal/measure"
	"plimsoll/internal/study"
	"plimsoll/internal/trial"
)

// target is a built-in study whose settings are bad at first. The first level of each of its candidates is the present one.
type target struct {
	name       string
	impossible func(levels map[string]string) bool // combinations that cannot run; nil for none
	guest      bool
}

var targets = []target{
	{name: "storage"}, {name: "nginx"}, {name: "postgres"}, {name: "mariadb"}, {name: "redis"},
	{name: "guest-disk", guest: true, impossible: func(l map[string]string) bool {
		return l["guest.cache"] == "unsafe" // which is not allowed
	}},
}

const (
	sweepBlocks = 2
	contenders  = 3 // of the sweep, measured again beside the result of the tuning
	lastBlocks  = 6 // unless the command line says otherwise
)

// bench measures one target.
type bench struct {
	target
	lab    *lab.Lab
	dir    string
	sets   []string
	blocks int // of the last comparison
	source *lab.Source
	out    io.Writer
}

// measured runs a target: the tuning, a sweep of all combinations, and both again in alternation.
func (t target) measured(ctx context.Context, dir string, sets []string, blocks int, out io.Writer) (err error) {
	b := &bench{target: t, dir: filepath.Join(dir, t.name), sets: sets, blocks: blocks, out: out, lab: &lab.Lab{Catalog: catalog.All(), Version: "bench", Progress: func(e trial.Event) {
		if e.Trial == 0 && e.Note != "" {
			fmt.Fprintf(os.Stderr, "%s: %s: %s\n", t.name, e.Phase, e.Note)
		}
	}}}
	if t.guest {
		if err := buildAgent(ctx); err != nil {
			return err
		}
		back, made := slowDisk(ctx)
		if back != nil {
			defer func() { err = errors.Join(err, back()) }()
		}
		if made != nil {
			return fmt.Errorf("make a slow disk for guests: %w", made)
		}
	}
	if b.source, err = b.lab.Read("tune-"+t.name, sets); err != nil {
		return err
	}
	began := time.Now()
	outcome, err := b.tune(ctx)
	if err != nil {
		return fmt.Errorf("tune: %w", err)
	}
	tuning := outcome.Findings.Tuning
	tried, kept := 0, 0
	for _, r := range tuning.Rounds {
		if r.Recommendation != nil {
			tried++
		}
		if r.Outcome == finding.Kept {
			kept++
		}
	}
	fmt.Fprintf(out, "%s: %d changes tried, %d confirmed on fresh blocks and kept, in %s: %s\n", t.name, tried, kept, time.Since(began).Round(time.Second), told(tuning.Final))
	began = time.Now()
	best, err := b.sweep(ctx)
	if err != nil {
		return fmt.Errorf("sweep: %w", err)
	}
	fmt.Fprintf(out, "%s: sweep of %d combinations in %s\n", t.name, len(b.combinations()), time.Since(began).Round(time.Second))
	return b.compare(ctx, tuning, best)
}

// tune runs the tuning, or continues the one of the folder.
func (b *bench) tune(ctx context.Context) (*lab.Outcome, error) {
	dir := filepath.Join(b.dir, "tuning")
	if _, err := os.Stat(dir); err == nil {
		return b.lab.Resume(ctx, dir)
	}
	return b.lab.Tune(ctx, lab.Request{Source: *b.source, Dir: dir, Seed: 1})
}

// buildAgent puts the agent for guests where this program lies.
func buildAgent(ctx context.Context) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-o", filepath.Join(filepath.Dir(self), "plimsoll-agent"), "./cmd/plimsoll-agent")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if text, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("build the agent for guests: %w: %s", err, text)
	}
	return nil
}

// start are the levels before.
func (b *bench) start() map[string]string {
	levels := map[string]string{}
	for _, f := range b.source.Study.Tune.Candidates {
		levels[f.FullName()] = f.Levels[0]
	}
	return levels
}

// combinations are all of the candidates' levels.
func (b *bench) combinations() []map[string]string {
	all := []map[string]string{{}}
	for _, f := range b.source.Study.Tune.Candidates {
		var next []map[string]string
		for _, one := range all {
			for _, level := range f.Levels {
				levels := maps.Clone(one)
				levels[f.FullName()] = level
				next = append(next, levels)
			}
		}
		all = next
	}
	if b.impossible == nil {
		return all
	}
	return slices.DeleteFunc(all, b.impossible)
}

// run measures combinations in the same blocks.
func (b *bench) run(ctx context.Context, name string, arms []map[string]string, blocks int) (*finding.Findings, error) {
	s := *b.source.Study
	s.Factors = slices.Clone(s.Tune.Candidates)
	s.Headline = []string{s.Goal.Metric}
	if s.Service != nil {
		s.Service = &study.Use{Kind: s.Service.Kind, Settings: maps.Clone(s.Service.Settings)}
	}
	s.Workload.Settings = maps.Clone(s.Workload.Settings)
	s.Combinations, s.Measure.Blocks, s.Measure.Looks = arms, blocks, nil
	dir := filepath.Join(b.dir, name)
	if outcome, err := b.lab.Judge(dir); err == nil && outcome.Findings.Blocks >= blocks && same(outcome.Findings, arms) {
		return outcome.Findings, nil
	}
	if err := os.RemoveAll(dir); err != nil {
		return nil, err
	}
	outcome, err := b.lab.Run(ctx, lab.Request{Source: lab.Source{Study: &s, Text: b.source.Text}, Dir: dir, Seed: 2})
	if err != nil {
		return nil, err
	}
	return outcome.Findings, nil
}

// same reports whether findings are about these combinations, in this order.
func same(f *finding.Findings, arms []map[string]string) bool {
	for i := range f.Arms {
		if i >= len(arms) || !maps.Equal(f.Arms[i].Levels, arms[i]) {
			return false
		}
	}
	return len(f.Arms) == len(arms)
}

// sweep measures every combination by itself and returns the best. It chooses what is compared in blocks
// afterwards.
func (b *bench) sweep(ctx context.Context) ([]map[string]string, error) {
	all := b.combinations()
	order := make([]int, len(all))
	value := make([]float64, len(all))
	for i := range all {
		order[i], value[i] = i, math.Inf(-1)
		f, err := b.run(ctx, filepath.Join("sweep", fmt.Sprintf("%03d", i)), all[i:i+1], sweepBlocks)
		if err != nil && ctx.Err() != nil {
			return nil, err
		}
		if err != nil { // such as one that never reaches a steady state
			fmt.Fprintf(b.out, "%s: %s was not measured: %v\n", b.name, told(all[i]), err)
			continue
		}
		if s := f.Summary(b.source.Study.Goal.Metric, 0); s != nil {
			value[i] = s.Mean
			if b.source.Study.Goal.Direction == measure.LowerIsBetter {
				value[i] = -s.Mean
			}
		}
	}
	slices.SortFunc(order, func(x, y int) int { return cmp.Compare(value[y], value[x]) })
	var best []map[string]string
	for _, i := range order[:min(contenders, len(order))] {
		if !math.IsInf(value[i], 0) {
			best = append(best, all[i])
		}
	}
	return best, nil
}

// compare measures the tuned settings, the best of the sweep and the settings before on fresh blocks, and prints how far
// the tuned ones are from the best.
func (b *bench) compare(ctx context.Context, tuning *finding.Tuning, best []map[string]string) error {
	tuned := b.start()
	maps.Copy(tuned, tuning.Final)
	for name := range tuned { // of a rule, what is no candidate has no level in the sweep
		if _, ok := b.start()[name]; !ok {
			return fmt.Errorf("the tuning changed %s, which the sweep does not vary", name)
		}
	}
	arms := []map[string]string{tuned, b.start()}
	for _, one := range best {
		if !maps.Equal(one, tuned) && !maps.Equal(one, b.start()) {
			arms = append(arms, one)
		}
	}
	f, err := b.run(ctx, "last", arms, b.blocks)
	if err != nil {
		return fmt.Errorf("compare: %w", err)
	}
	metric := b.source.Study.Goal.Metric
	fmt.Fprintf(b.out, "%s: %s of %d settings on %d blocks in alternation\n", b.name, metric, len(arms), f.Blocks)
	for arm, levels := range arms {
		what := "of the sweep"
		if arm < 2 {
			what = []string{"tuned", "before"}[arm]
		}
		s := f.Summary(metric, arm)
		if s == nil {
			continue
		}
		line := fmt.Sprintf("  %-12s %10.5g (%.5g to %.5g)", what, s.Mean, s.Low, s.High)
		if arm > 0 {
			e := compare.Effect(f, metric, arm, .1)
			line += fmt.Sprintf("  %+6.1f %% of tuned (%+.1f to %+.1f)", 100*math.Expm1(e.Mean), 100*math.Expm1(e.Low), 100*math.Expm1(e.High))
		}
		fmt.Fprintf(b.out, "%s  %s\n", line, told(levels))
	}
	return nil
}

func told(levels map[string]string) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(levels)) {
		parts = append(parts, name+"="+levels[name])
	}
	return cmp.Or(strings.Join(parts, " "), "nothing changed")
}
