package trend

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"plimsoll/internal/history"
	"plimsoll/internal/lab"
	"plimsoll/internal/measure"
	"plimsoll/internal/parameter"
	"plimsoll/internal/plan"
	"plimsoll/internal/study"
	"plimsoll/internal/trial/journal"
)

// Request says which runs and metrics a trend is of.
type Request struct {
	Index   *history.Index
	Folders []string // that hold results folders
	Study   string   // its name
	Metric  string   // empty for the headlines of the study
}

// Count is how many results folders a study has.
type Count struct {
	Study   string `json:"study"`
	Folders int    `json:"folders"`
}

// Studies counts the results folders of each study, by name. A missing folder has none.
func Studies(ctx context.Context, index *history.Index, folders []string) ([]Count, error) {
	found, err := scan(ctx, index, folders)
	if err != nil {
		return nil, err
	}
	counts := map[string]int{}
	for _, f := range found {
		counts[f.Study]++
	}
	var out []Count
	for name, n := range counts {
		out = append(out, Count{name, n})
	}
	slices.SortFunc(out, func(a, b Count) int { return cmp.Compare(a.Study, b.Study) })
	return out, nil
}

// Read reads the finished runs of a study and judges each series. Runs that are interrupted or under way are not part of it; those that
// cannot be read are left out with the reason. A run that lies in two folders counts once. A study without a run, and a metric that no
// run has, are mistakes.
func Read(ctx context.Context, c *study.Catalog, r Request) (*Trend, error) {
	found, err := scan(ctx, r.Index, r.Folders)
	if err != nil {
		return nil, err
	}
	b := builder{catalog: c, wanted: r.Metric, seen: map[string]bool{}, at: map[string]*part{}, t: &Trend{Format: Format, Study: r.Study, Series: []Series{}}}
	known := map[string]bool{}
	for _, f := range found {
		known[f.Study] = true
		if f.Study != r.Study {
			continue
		}
		if err := context.Cause(ctx); err != nil {
			return nil, err
		}
		if err := b.take(f.Folder); err != nil {
			b.t.LeftOut = append(b.t.LeftOut, LeftOut{f.Folder, err.Error()})
		}
	}
	if !known[r.Study] {
		return nil, noStudy(r, known)
	}
	b.finish()
	b.t.count()
	if r.Metric != "" && b.t.Runs() > 0 && !slices.ContainsFunc(b.t.Series, func(s Series) bool { return len(s.Lines) > 0 }) {
		return nil, b.noMetric(r)
	}
	return b.t, nil
}

func noStudy(r Request, known map[string]bool) error {
	names := make([]string, 0, len(known))
	for name := range known {
		names = append(names, name)
	}
	slices.Sort(names)
	text := fmt.Sprintf("no run of %q in %s", r.Study, strings.Join(r.Folders, ", "))
	if near := parameter.Nearest(r.Study, names); near != "" {
		text += fmt.Sprintf("; did you mean %q?", near)
	} else if len(names) > 0 {
		text += "; it has runs of: " + strings.Join(names, ", ")
	}
	return lab.Mistake(errors.New(text))
}

func (b *builder) noMetric(r Request) error {
	text := fmt.Sprintf("no run of %s has the metric %q", r.Study, r.Metric)
	if near := parameter.Nearest(r.Metric, b.names); near != "" {
		text += fmt.Sprintf("; did you mean %q?", near)
	}
	return lab.Mistake(errors.New(text))
}

// scan lists the runs in folders. Tunings hold other runs, and are left out; so are folders without a readable study.
func scan(ctx context.Context, index *history.Index, folders []string) ([]history.Run, error) {
	all, err := index.Runs(ctx, folders...)
	if ctx.Err() != nil {
		return nil, err
	}
	if err != nil {
		return nil, lab.Mistake(err)
	}
	return slices.DeleteFunc(all, func(r history.Run) bool {
		_, missing := os.Lstat(filepath.Join(r.Folder, "tune.json"))
		return r.Study == "" || r.State == history.Tuned || missing == nil
	}), nil
}

// builder sorts runs into series.
type builder struct {
	catalog *study.Catalog
	wanted  string
	t       *Trend
	seen    map[string]bool // runs by the name of their undo log
	at      map[string]*part
	parts   []*part
	names   []string // of metrics that the runs have
}

// part is a series in the making.
type part struct {
	Series
	study *study.Study
	arms  []plan.Arm
	units map[string]measure.Metric
}

// take adds the run in a results folder, if it is finished.
func (b *builder) take(dir string) error {
	entries, err := journal.Read(dir)
	if err != nil {
		return err
	}
	begin := journal.First(entries)
	if begin == nil || entries[len(entries)-1].Kind != journal.KindEnd || journal.Locked(dir) {
		return nil
	}
	if begin.Run != "" && b.seen[begin.Run] {
		return nil
	}
	recorded, err := lab.ReadRecorded(b.catalog, dir)
	if err != nil {
		return err
	}
	facts, err := identityOf(recorded.Source.Study, recorded.Testbed)
	if err != nil {
		return err
	}
	run := Run{Folder: dir, Started: entries[0].Time, Version: begin.Version, values: map[string][]reading{}}
	for _, f := range recorded.Testbed {
		run.facts = append(run.facts, Fact{f.Name, f.Value})
	}
	metrics := recorded.Source.Study.Headline
	if b.wanted != "" {
		metrics = []string{b.wanted}
	}
	for i := range recorded.Records {
		b.read(&run, &recorded.Records[i], metrics)
	}
	b.seen[begin.Run] = true
	b.add(run, facts, recorded)
	return nil
}

// read takes the values of a trial.
func (b *builder) read(run *Run, r *measure.Record, metrics []string) {
	if !r.Valid() {
		return
	}
	for _, name := range metrics {
		v, ok := r.Values[name]
		if !ok {
			v, ok = r.Counters[name]
		}
		if ok {
			run.values[name] = append(run.values[name], reading{r.Arm, r.Block, v})
		}
	}
	if b.wanted != "" && len(b.names) == 0 { // for the nearest name
		for name := range r.Values {
			b.names = append(b.names, name)
		}
		for name := range r.Counters {
			b.names = append(b.names, name)
		}
		slices.Sort(b.names)
	}
}

// add adds a run to its series.
func (b *builder) add(run Run, facts []Fact, r *lab.Recorded) {
	id := digestOf(facts)
	p := b.at[id]
	if p == nil {
		p = &part{Series: Series{ID: id, Facts: facts}, study: r.Source.Study, arms: r.Plan.Arms, units: map[string]measure.Metric{}}
		for _, m := range r.Metrics {
			p.units[m.Name] = m
		}
		b.at[id] = p
		b.parts = append(b.parts, p)
	}
	p.Runs = append(p.Runs, run)
}

// finish sorts and judges the series.
func (b *builder) finish() {
	for _, p := range b.parts {
		slices.SortStableFunc(p.Runs, func(x, y Run) int { return cmp.Or(x.Started.Compare(y.Started), cmp.Compare(x.Folder, y.Folder)) })
		metrics := p.study.Headline
		if b.wanted != "" {
			metrics = []string{b.wanted}
		}
		p.judge(metrics)
	}
	slices.SortStableFunc(b.parts, func(x, y *part) int {
		return cmp.Or(x.Runs[0].Started.Compare(y.Runs[0].Started), cmp.Compare(x.ID, y.ID))
	})
	for i, p := range b.parts {
		if i > 0 {
			p.Differs = differences(b.parts[i-1].Facts, p.Facts)
		}
		b.t.Series = append(b.t.Series, p.Series)
	}
}
