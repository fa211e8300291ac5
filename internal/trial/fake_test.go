package trial

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"plimsoll/internal/collect"
	"plimsoll/internal/factor"
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

// machine is a fake host whose settings are files in a folder, so that they
// outlive the process.
type machine struct {
	root  string
	quick bool // see answered
}

func (m *machine) Name() string              { return "fake" }
func (m *machine) Close() error              { return nil }
func (m *machine) Machine() platform.Machine { return m }

func (m *machine) ReadFile(_ context.Context, name string) ([]byte, error) {
	return os.ReadFile(m.path(name))
}

func (m *machine) WriteFile(_ context.Context, name string, data []byte) error {
	return os.WriteFile(m.path(name), data, 0o644)
}

// path is the name of a file of this host: settings lie in the folder of the machine, scratch folders where they are.
func (m *machine) path(name string) string {
	if strings.HasPrefix(name, os.TempDir()) || strings.HasPrefix(name, "/dev/shm/") {
		return name
	}
	return filepath.Join(m.root, name)
}

func (m *machine) Run(ctx context.Context, c platform.Command) (platform.Result, error) {
	if r, known := m.answered(c.Argv); known {
		return r, nil
	}
	command := exec.CommandContext(ctx, c.Argv[0], c.Argv[1:]...)
	command.Dir = m.root
	var out, errs bytes.Buffer
	command.Stdout, command.Stderr = &out, &errs
	err := command.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return platform.Result{}, err
	}
	r := platform.Result{Exit: command.ProcessState.ExitCode(), Stdout: out.Bytes(), Stderr: errs.Bytes()}
	if w, ok := command.ProcessState.Sys().(syscall.WaitStatus); ok && w.Signaled() {
		r.Signal = unix.SignalName(w.Signal())
	}
	return r, nil
}

// knob is a factor whose setting is a file; lie is what it reads after a level
// was written that it does not take.
func knob(name string, lie map[string]string) factor.Factor {
	file := func(p factor.Env) string { return strings.TrimSuffix(name+"_"+p.Target, "_") }
	return factor.Factor{
		Name: name, Doc: "a file",
		Get: func(ctx context.Context, p factor.Env) (string, error) {
			text, err := p.Machine.ReadFile(ctx, file(p))
			return string(text), err
		},
		Set: func(ctx context.Context, p factor.Env, level string) error {
			if other, ok := lie[level]; ok {
				level = other
			}
			if level == "error" {
				return errors.New("no such level")
			}
			return p.Machine.WriteFile(ctx, file(p), []byte(level))
		},
	}
}

// driven is a fake workload: it prepares a file, and its intervals take no time.
type driven struct {
	drivenSettings
	hooks *hooks
}

type drivenSettings struct {
	Rate    int     `name:"rate" doc:"operations per second" min:"1"`
	Threads int     `name:"threads" doc:"in flight" min:"1"`
	Slope   float64 `name:"slope" doc:"change of the rate over the load"`
	Fail    string  `name:"fail" doc:"how it misbehaves"`
}

// hooks let a test look into a load.
type hooks struct {
	run    func(ctx context.Context, out *measure.Recorder) error
	during func(i int)
	runs   int
}

func (d *driven) Demand() load.Demand {
	return load.Demand{Concurrency: d.Threads, Classes: []load.Class{{Share: 1, Bytes: 4096}}}
}

func (d *driven) Check(context.Context, workload.Env) (workload.Needs, error) {
	if d.Fail == "check" {
		return workload.Needs{}, errors.New("no program")
	}
	return workload.Needs{Disk: 1 << 20, Versions: map[string]string{"driven": "1"}}, nil
}

func (d *driven) Prepare(_ context.Context, env workload.Env) error {
	if d.Fail == "prepare" {
		return errors.New("no space")
	}
	if d.Fail == "refuse" {
		return fmt.Errorf("prepare: %w", &workload.Refused{Err: errors.New("the account lacks privileges")})
	}
	return os.WriteFile(filepath.Join(env.Dir, fmt.Sprintf("data%d", d.Threads)), []byte("x"), 0o644)
}

func (d *driven) Clean(_ context.Context, env workload.Env) error {
	err := os.Remove(filepath.Join(env.Dir, fmt.Sprintf("data%d", d.Threads)))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

func (d *driven) Run(ctx context.Context, env workload.Env, stage load.Stage, out *measure.Recorder) error {
	if _, err := os.Stat(filepath.Join(env.Dir, fmt.Sprintf("data%d", d.Threads))); err != nil {
		return err
	}
	if d.hooks != nil {
		d.hooks.runs++
		if d.hooks.run != nil {
			return d.hooks.run(ctx, out)
		}
	}
	if strings.HasPrefix(d.Fail, "data") {
		out.Check(measure.DataCheck("consistency", false, "condition 4 is broken 7 times"))
	}
	if strings.HasSuffix(d.Fail, "exit") {
		return fmt.Errorf("run driven: %w", &workload.ExitError{Program: "driven", Exit: 7, Stderr: "it broke\n"})
	}
	seen := fmt.Sprint(d.Threads)
	if d.Fail == "observe" {
		seen = "999"
	}
	out.Observe("driven.threads", seen)
	random := rand.New(rand.NewPCG(stage.Seed, 1))
	for i := range int(stage.Length / stage.Interval) {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if d.hooks != nil && d.hooks.during != nil {
			d.hooks.during(i)
		}
		if !out.Interval(d.interval(i, stage, random)) || d.Fail == "early" && i == 3 {
			break
		}
	}
	return nil
}

func (d *driven) interval(i int, stage load.Stage, random *rand.Rand) measure.Interval {
	at := float64(i) * float64(stage.Interval) / float64(stage.Length)
	rate := float64(d.Rate) * (1 + d.Slope*at) * (1 + .002*random.NormFloat64())
	n := int64(rate * stage.Interval.Seconds())
	mean := time.Duration(float64(d.Threads) / rate * 1e9)
	if d.Fail == "little" {
		mean *= 3
	}
	s := measure.Sample{Operations: n, Bytes: n * 4096, Total: mean * time.Duration(n)}
	if d.Fail != "no latency" { // histograms take most of the time of a test
		s.Latency = measure.NewHistogram()
		s.Latency.Record(mean, n)
	}
	if d.Fail == "errors" && i == 5 {
		s.Errors = 1
	}
	from := time.Duration(i) * stage.Interval
	return measure.Interval{From: from, To: from + stage.Interval, Samples: []measure.Sample{s}}
}

func drivenKind(h *hooks) workload.Kind {
	return workload.Define(workload.Kind{
		Name: "driven", Rate: "ops", Metrics: measure.OperationMetrics("ops"),
	}, drivenSettings{Rate: 10000, Threads: 4}, func(d drivenSettings) (workload.Load, error) {
		if d.Fail == "new" {
			return nil, errors.New("impossible settings")
		}
		return &driven{d, h}, nil
	})
}

// rig is a study on a fake machine, all of it below one folder.
type rig struct {
	root    string
	machine *machine
	hooks   *hooks
	lie     map[string]string
	sources []collect.Source
}

var formers = map[string]string{"host.one": "a former", "host.two_x": "b\nformer", "mine": "c"}

// memory is a folder for a test, in memory where the host offers that: every
// entry of a journal is synced, and a test writes many.
func memory(t testing.TB) string {
	t.Helper()
	parent := "/dev/shm"
	if _, err := os.Stat(parent); err != nil {
		parent = ""
	}
	dir, err := os.MkdirTemp(parent, "trial-*")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// newRig makes the machine.
func newRig(t testing.TB) *rig {
	t.Helper()
	r := openRig(memory(t))
	if err := os.MkdirAll(r.machine.root, 0o755); err != nil {
		t.Fatal(err)
	}
	r.put(t, formers)
	return r
}

func openRig(root string) *rig {
	return &rig{root: root, machine: &machine{root: filepath.Join(root, "machine")}, hooks: &hooks{}}
}

func (r *rig) undo() string { return filepath.Join(r.root, "undo") }

// unfinished are the results folders of the runs that left something.
func (r *rig) unfinished() (dirs []string, err error) {
	all, err := journal.ListUnfinished(r.undo())
	for _, u := range all {
		if u.Left > 0 || u.Err != nil {
			dirs = append(dirs, u.Dir)
		}
	}
	return dirs, err
}

// restoration is that of the run in the results folder.
func (r *rig) restoration(c *study.Catalog) restore.Restoration {
	logs, err := journal.LogsOf(r.dir(), r.undo())
	if err != nil || len(logs) == 0 {
		logs = []string{filepath.Join(r.undo(), journal.NewRun()+".jsonl")}
	}
	return restore.Restoration{Log: logs[0], Catalog: c, Open: func(context.Context, study.Use, uint64) (platform.Platform, error) { return r.machine, nil }}
}

// restored restores the run in the results folder, where it left anything.
func (r *rig) restored(ctx context.Context, c *study.Catalog) ([]string, error) {
	logs, err := journal.LogsOf(r.dir(), r.undo())
	if err != nil || len(logs) == 0 {
		return nil, err
	}
	return restore.Restore(ctx, r.restoration(c))
}

func (r *rig) dir() string { return filepath.Join(r.root, "results") }

func (r *rig) put(t testing.TB, settings map[string]string) {
	t.Helper()
	for name, level := range settings {
		if err := os.WriteFile(filepath.Join(r.machine.root, name), []byte(level), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// present reads the machine's settings.
func (r *rig) present(t testing.TB) map[string]string {
	t.Helper()
	now := map[string]string{}
	for name := range formers {
		text, err := os.ReadFile(filepath.Join(r.machine.root, name))
		if err != nil {
			t.Fatal(err)
		}
		now[name] = string(text)
	}
	return now
}

func (r *rig) catalog() *study.Catalog {
	return &study.Catalog{
		Workloads: []workload.Kind{drivenKind(r.hooks)},
		Factors:   []factor.Factor{knob("host.one", r.lie), knob("host.two", r.lie)},
		Sources:   r.sources,
	}
}

func exampleStudy() *study.Study {
	return &study.Study{
		Name: "example", Platform: study.Use{Kind: "fake"}, Workload: study.Use{Kind: "driven", Settings: parameter.Settings{"rate": "20000"}},
		Factors: []study.Factor{
			{Name: "host.one", Levels: []string{"on", "off"}},
			{Name: "host.two", Target: "x", Levels: []string{"1"}},
			{Name: "driven.threads", Parameter: "threads", Levels: []string{"8"}},
			{Name: study.Label, Levels: []string{"here"}},
			{Name: "command.mine", Levels: []string{"d", "e"}},
		},
		Commands: []study.Command{{Name: "mine", Read: "cat mine", Apply: "printf %s {level} > mine"}},
		Measure:  study.Measure{Window: time.Second, Longest: time.Second, Interval: 100 * time.Millisecond, Retries: 3},
		Headline: []string{"ops"}, Margin: .02,
	}
}

// steadyStudy is long enough to find the warm-up and a steady state.
func steadyStudy() *study.Study {
	s := exampleStudy()
	s.Measure.Warmup, s.Measure.Window, s.Measure.Longest = study.AutoWarmup, 5*time.Second, 20*time.Second
	return s
}

// planOf makes the plan of a study with a fixed number of blocks.
func planOf(s *study.Study, blocks int) *plan.Plan {
	s.Measure.Blocks = blocks
	p, err := plan.New(s, 7)
	if err != nil {
		panic(err)
	}
	return p
}

func (r *rig) bench(t testing.TB, s *study.Study, blocks int) *Bench {
	t.Helper()
	return &Bench{
		Study: s, Plan: planOf(s, blocks), Catalog: r.catalog(), Platform: r.machine, Dir: r.dir(),
		Scratch: filepath.Join(r.root, "scratch"), Version: "test", Undo: r.undo(),
	}
}

func (r *rig) run(t testing.TB, s *study.Study, blocks int) []measure.Record {
	t.Helper()
	if err := r.bench(t, s, blocks).Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	return r.records(t)
}

func (r *rig) records(t testing.TB) []measure.Record {
	t.Helper()
	entries, err := journal.Read(r.dir())
	if err != nil {
		t.Fatal(err)
	}
	var all []measure.Record
	for _, e := range entries {
		if e.Kind == journal.KindTrialEnded {
			record, err := measure.OpenResults(r.dir()).Record(e.Trial, e.Record)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, *record)
		}
	}
	return all
}

// atFormer fails the test unless the machine is as it was and the scratch
// folder is empty.
func (r *rig) atFormer(t testing.TB) {
	t.Helper()
	if now := r.present(t); !maps.Equal(now, formers) {
		t.Errorf("the machine is at %v, not at %v", now, formers)
	}
	if left, err := os.ReadDir(filepath.Join(r.root, "scratch")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the scratch folder is left with %d files, %v", len(left), err)
	}
}

func check(t testing.TB, r *measure.Record, name string, want measure.State) {
	t.Helper()
	i := slices.IndexFunc(r.Checks, func(c measure.Check) bool { return c.Name == name })
	if i < 0 {
		t.Fatalf("no check %q among %v", name, r.Checks)
	}
	if c := r.Checks[i]; c.State != want {
		t.Errorf("%s: %s (%s), want %s", name, c.State, c.Detail, want)
	}
}

// simulator is a fake platform in virtual time.
type simulator struct {
	*machine
	clock time.Time
	runs  []platform.Run
	fail  error
}

func (s *simulator) Now() time.Time { return s.clock }

func (s *simulator) Simulate(_ context.Context, run platform.Run, out *measure.Recorder) (map[string]float64, error) {
	s.runs = append(s.runs, run)
	d := &driven{drivenSettings: drivenSettings{Rate: 1000, Threads: run.Demand.Concurrency}}
	random := rand.New(rand.NewPCG(run.Stage.Seed, 1))
	for i := range int(run.Stage.Length / run.Stage.Interval) {
		s.clock = s.clock.Add(run.Stage.Interval)
		if !out.Interval(d.interval(i, run.Stage, random)) {
			break
		}
	}
	return map[string]float64{"softirq.net": 7}, s.fail
}
