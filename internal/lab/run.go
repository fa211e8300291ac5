package lab

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"plimsoll/internal/collect"
	"plimsoll/internal/lab/publisher"
	"plimsoll/internal/platform"
	"plimsoll/internal/study"
	"plimsoll/internal/trial"
	"plimsoll/internal/trial/fault"
	"plimsoll/internal/trial/journal"
	"plimsoll/internal/trial/machines"
	"plimsoll/internal/trial/requirement"
	"plimsoll/internal/trial/restore"
)

// Request is the request for a run.
type Request struct {
	Source Source
	Dir    string // results folder, to be created
	Seed   uint64
	Tuning Tuning
}

// Tuning is what a tuning may do, beside what its study declares.
type Tuning struct {
	Changes int           `json:"changes,omitempty"` // largest number; 0 for that of the study, else the default of package tune
	Time    time.Duration `json:"time,omitempty"`    // budget; 0 for that of the study
	Unsafe  bool          `json:"unsafe,omitempty"`  // changes that can lose data or weaken security are tried too
}

// DrawSeed draws a seed that is short enough to type.
func DrawSeed() uint64 {
	var b [4]byte
	if _, err := rand.Read(b[:]); err != nil {
		panic(err) // the system's random source does not fail
	}
	return uint64(binary.LittleEndian.Uint32(b[:]))
}

// Run runs a study into a new results folder, analyses it and writes the report. If the run
// ends early, the outcome of the completed trials is returned beside the error. Mistakes,
// including missing prerequisites, are found before anything is touched.
func (l *Lab) Run(ctx context.Context, request Request) (*Outcome, error) {
	preview, p, err := l.preview(ctx, request)
	if err != nil {
		return nil, err
	}
	if preview.Budget.Short {
		return nil, errors.Join(&mistake{errors.New(preview.Budget.Sentence)}, p.Close())
	}
	r, err := create(request.Dir, request.Source, request.Seed)
	if err != nil {
		return nil, errors.Join(err, p.Close())
	}
	outcome, err := l.measure(ctx, r, p, preview.known)
	if err == nil {
		outcome, err = mediation{l, r, p}.complete(ctx, outcome)
	}
	err = errors.Join(err, p.Close())
	if refused := (*fault.Refusal)(nil); outcome == nil && errors.As(err, &refused) { // only the new folder was touched
		return nil, errors.Join(err, os.RemoveAll(r.Dir))
	}
	return decisive(outcome, err)
}

// Resume continues an interrupted run.
func (l *Lab) Resume(ctx context.Context, dir string) (*Outcome, error) {
	if err := journal.Resumable(dir); err != nil {
		return nil, err
	}
	r, err := open(dir)
	if err != nil {
		return nil, err
	}
	if r.Source.Study.Imported != nil {
		return nil, &mistake{fmt.Errorf("%s holds results of another tool: there is nothing to resume", dir)}
	}
	if r.exists(tuneFile) {
		return resumeTuning(ctx, l, r)
	}
	p, err := l.open(ctx, r.Source.Study.Platform, r.Plan.Seed)
	if err != nil {
		return nil, err
	}
	outcome, err := l.measure(ctx, r, p, nil)
	if err == nil {
		outcome, err = mediation{l, r, p}.complete(ctx, outcome)
	}
	return decisive(outcome, errors.Join(err, p.Close()))
}

// DataError reports a failed check of data: a verdict on the system under test, not trouble
// with the run.
type DataError struct{ Verdict string }

// Error is the verdict.
func (d *DataError) Error() string { return "data check failed: " + d.Verdict }

// decisive returns an error for a run without a complete block, so that scripts do not take it
// for a result.
func decisive(outcome *Outcome, err error) (*Outcome, error) {
	if err != nil {
		return outcome, err
	}
	f := outcome.Findings
	if lost := f.DataVerdict(); lost != "" {
		return outcome, &DataError{lost}
	}
	if f.Blocks > 0 {
		return outcome, nil
	}
	err = fmt.Errorf("no block was completed, so there is nothing to judge: %d of %d trials are void", len(f.Void), f.Trials)
	if retries := outcome.Input.Study.Measure.Retries; len(f.Void) > retries {
		err = fmt.Errorf("%w, more than the %d that may be (measure.retries)", err, retries)
	}
	if n := len(f.Void); n > 0 {
		err = fmt.Errorf("%w; the last, trial %d: %s", err, f.Void[n-1].Trial, f.Void[n-1].Cause)
	}
	return outcome, err
}

// measure runs the remaining trials and analyses them. Known has the requirements that an earlier check of these machines found; nil for none.
func (l *Lab) measure(ctx context.Context, r *Run, p platform.Platform, known *requirement.Known) (*Outcome, error) {
	if err := restore.Choose(ctx, p, r.Dir); err != nil {
		return nil, err
	}
	dir, err := filepath.Abs(r.Dir)
	if err != nil {
		return nil, fmt.Errorf("find results folder: %w", err)
	}
	bench := &trial.Bench{
		Study: r.Source.Study, Plan: r.Plan, Catalog: l.Catalog, Platform: p,
		Dir: dir, Scratch: scratch(p, dir), Version: l.Version, Known: known,
	}
	if known == nil {
		bench.Known = &requirement.Known{}
	}
	published := publisher.New(bench, l.Events, l.Progress)
	bench.Report = published.Take
	if _, err := os.Stat(r.path("testbed.json")); errors.Is(err, fs.ErrNotExist) {
		bed, err := testbed(ctx, bench)
		if err != nil {
			return nil, err
		}
		if err := r.write("testbed.json", bed); err != nil {
			return nil, err
		}
	}
	l.running.Store(&dir)
	failed := bench.Run(ctx)
	published.Close()
	defer func() { published.Leave(failed == nil) }() // after the report, which replaces it
	if lost, refused := (*journal.Lost)(nil), (*fault.Refusal)(nil); errors.As(failed, &lost) || errors.As(failed, &refused) {
		return nil, failed
	}
	outcome, err := l.Judge(r.Dir)
	if err != nil {
		return nil, errors.Join(failed, err)
	}
	return outcome, errors.Join(failed, outcome.Write())
}

// software begins the names of the facts that say which programs a study used.
const software = "software."

// testbed is the machine, and the software of services and loads.
func testbed(ctx context.Context, b *trial.Bench) (collect.TestbedRecord, error) {
	needs, failed := b.Check(ctx) // before a machine boots: it says where its disk is
	lead, err := machines.Lead(ctx, b.Platform, b.Study)
	if err != nil {
		return nil, err
	}
	if _, simulated := b.Platform.(platform.Simulator); simulated { // there is no hardware
		return collect.TestbedRecord{{Name: "machine.name", Value: lead.Name()}, {Name: "machine.model", Value: "simulated, in virtual time"}}, nil
	}
	bed := withCautions(collect.Testbed(ctx, lead, b.Dir), b)
	if failed != nil {
		return append(bed, collect.Fact{Name: "software", Value: collect.NotReadable + failed.Error()}), nil
	}
	for _, name := range slices.Sorted(maps.Keys(needs.Versions)) {
		bed = append(bed, collect.Fact{Name: software + name, Value: needs.Versions[name]})
	}
	return bed, nil
}

// scratch is the workloads' folder on the machine.
func scratch(p platform.Platform, dir string) string {
	if l, ok := p.(platform.ScratchProvider); ok {
		return l.Scratch()
	}
	return filepath.Join(dir, "scratch")
}

// open opens a platform.
func (l *Lab) open(ctx context.Context, of study.Use, seed uint64) (platform.Platform, error) {
	i := slices.IndexFunc(l.Catalog.Platforms, func(k platform.Kind) bool { return k.Name == of.Kind })
	if i < 0 {
		return nil, &mistake{fmt.Errorf("unknown platform %q", of.Kind)}
	}
	p, err := l.Catalog.Platforms[i].Open(ctx, of.Settings, seed)
	if err != nil {
		return nil, &mistake{fmt.Errorf("open platform %s: %w", of.Kind, err)}
	}
	return p, nil
}
