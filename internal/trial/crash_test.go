package trial

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"plimsoll/internal/effort"
	"plimsoll/internal/measure"
	"plimsoll/internal/service"
	"plimsoll/internal/study"
	"plimsoll/internal/trial/journal"
	"plimsoll/internal/trial/restore"
	"plimsoll/internal/trial/serve"
)

// The test binary runs again as the process that is killed. The variable holds
// the folder of the rig, what to do there and the step at which to die.
const childVariable = "PLIMSOLL_TRIAL_CHILD"

func TestMain(m *testing.M) {
	if task := os.Getenv(childVariable); task != "" {
		os.Exit(child(strings.Split(task, "|")))
	}
	effort.CollectSeldom()
	os.Exit(m.Run())
}

// child does a task and kills itself at a step; it returns when that step never comes.
func child(task []string) int {
	r, verb := openRig(task[0]), task[1]
	r.machine.quick = true
	dieAt, _ := strconv.Atoi(task[2])
	step := 0
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	die := func(name string) {
		if step++; step == dieAt {
			os.WriteFile(filepath.Join(r.root, "died"), []byte(name), 0o644)
			syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		}
	}
	var err error
	switch verb {
	case "restore":
		of := r.restoration(r.catalog())
		of.Step = die
		_, err = restore.Restore(ctx, of)
	case "serve":
		b := crashBench(r)
		b.Study.Service = &study.Use{Kind: "doomed"}
		b.Catalog.Services = []service.Kind{doomed(func() { dieAt = step + 1; die("start service") })}
		err = b.Run(ctx)
	default:
		b := crashBench(r)
		b.step = die
		err = b.Run(ctx)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 3
	}
	return 0
}

// quickRig is a rig on whose machine hundreds of runs take no time.
func quickRig(t *testing.T) *rig {
	t.Helper()
	r := newRig(t)
	r.machine.quick = true
	return r
}

func crashStudy() *study.Study {
	s := exampleStudy()
	s.Measure = study.Measure{Window: 300 * time.Millisecond, Longest: 300 * time.Millisecond, Interval: 100 * time.Millisecond}
	s.Workload.Settings["fail"] = "no latency"
	s.Factors = s.Factors[:4] // the command has its own test: it would start hundreds of shells here
	s.Factors[1].Levels = []string{"1", "2"}
	s.Factors[2].Levels = s.Factors[2].Levels[:1]
	s.Commands = nil
	return s
}

func crashBench(r *rig) *Bench {
	s := crashStudy()
	return &Bench{
		Study: s, Plan: planOf(s, 1), Catalog: r.catalog(), Platform: r.machine, Dir: r.dir(),
		Scratch: filepath.Join(r.root, "scratch"), Version: "test", Undo: r.undo(),
	}
}

// spawn runs the child and says at which step it died: "" when it did not.
func spawn(t *testing.T, r *rig, verb string, dieAt int) string {
	t.Helper()
	command := exec.Command(os.Args[0])
	command.Env = append(os.Environ(), fmt.Sprintf("%s=%s|%s|%d", childVariable, r.root, verb, dieAt))
	out, err := command.CombinedOutput()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL {
		name, err := os.ReadFile(filepath.Join(r.root, "died"))
		if err != nil {
			t.Error(err)
		}
		return string(name)
	}
	if err != nil {
		t.Errorf("%s: %v: %s", verb, err, out)
	}
	return ""
}

// ended reads the records of the trials that the journal calls ended, by number.
func (r *rig) ended(t *testing.T) map[int]string {
	t.Helper()
	entries, err := journal.Read(r.dir())
	if err != nil {
		return nil // it died before the journal was there
	}
	all := map[int]string{}
	for _, e := range entries {
		if e.Kind != journal.KindTrialEnded {
			continue
		}
		text, err := os.ReadFile(filepath.Join(r.dir(), "trials", fmt.Sprintf("%04d", e.Trial), "record.json"))
		if err != nil {
			t.Fatal(err)
		}
		if _, twice := all[e.Trial]; twice {
			t.Errorf("trial %d ended twice", e.Trial)
		}
		if measure.Checksum(text) != e.Record {
			t.Errorf("trial %d: the record does not match the journal", e.Trial)
		}
		all[e.Trial] = string(text)
	}
	return all
}

// complete resumes the run in this process and makes sure that nothing is lost,
// run twice or left behind.
func (r *rig) complete(t *testing.T, before map[int]string) {
	t.Helper()
	if err := crashBench(r).Run(t.Context()); err != nil {
		t.Errorf("resume: %v", err)
		return
	}
	after := r.ended(t)
	if len(after) != 4 {
		t.Errorf("%d trials ended, want 4", len(after))
	}
	for n, text := range before {
		if after[n] != text {
			t.Errorf("the record of trial %d changed", n)
		}
	}
	if ran := r.hooks.runs; ran != 4-len(before) {
		t.Errorf("%d loads ran for %d trials that had not ended", ran, 4-len(before))
	}
	for n, text := range after {
		if strings.Contains(text, `"void"`) {
			t.Errorf("trial %d is void: %s", n, text)
		}
	}
	r.atFormer(t)
	r.known(t, false)
}

// known says whether the machine knows that the run left something.
func (r *rig) known(t *testing.T, want bool) {
	t.Helper()
	if dirs, err := r.unfinished(); err != nil || slices.Contains(dirs, r.dir()) != want {
		t.Errorf("unfinished: %v, %v; %s among them: want %v", dirs, err, r.dir(), want)
	}
}

// putBack restores in this process and looks at the machine.
func (r *rig) putBack(t *testing.T) {
	t.Helper()
	if _, err := os.Stat(filepath.Join(r.dir(), journal.Name)); err != nil {
		return
	}
	for range 2 { // the second time there is nothing to do
		if _, err := r.restored(t.Context(), r.catalog()); err != nil {
			t.Errorf("restore: %v", err)
		}
		r.atFormer(t)
	}
	r.known(t, false)
}

// chosen are the steps at which a run is killed: the first or the last of each name, and with
// PLIMSOLL_REAL=1 or PLIMSOLL_DEEP=1 every one. A run as long as the others tells their names.
func chosen(t *testing.T) (steps []int) {
	t.Helper()
	every := os.Getenv("PLIMSOLL_REAL") != "" || os.Getenv("PLIMSOLL_DEEP") != ""
	first, last := map[string]int{}, map[string]int{}
	k := 0
	r := quickRig(t)
	b := crashBench(r)
	b.step = func(name string) {
		k++
		if _, seen := first[name]; !seen {
			first[name] = k
		}
		last[name] = k
		if every {
			steps = append(steps, k)
		}
	}
	if err := b.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if every {
		return steps
	}
	for i, name := range slices.Sorted(maps.Keys(first)) {
		steps = append(steps, []map[string]int{first, last}[i%2][name])
	}
	slices.Sort(steps)
	return steps
}

// TestKillAtEveryStep kills a run with SIGKILL around each line of the journal
// and each change to the machine. After each, restore puts everything back and
// the run goes on with the first trial that had not ended; or it goes on at once.
func TestKillAtEveryStep(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", memory(t))
	steps := chosen(t)
	var mu sync.Mutex
	seen := map[string]int{}
	var wait sync.WaitGroup
	gate := make(chan struct{}, runtime.GOMAXPROCS(0))
	for _, k := range steps {
		wait.Go(func() {
			gate <- struct{}{}
			defer func() { <-gate }()
			name := killed(t, k)
			mu.Lock()
			defer mu.Unlock()
			seen[name]++
		})
	}
	wait.Wait()
	t.Logf("killed at %d steps: %v", len(steps), seen)
	for _, name := range []string{"before set", "after set", "before put back", "after write trial", "written journal change", "synced journal trial ended", "before clean"} {
		if seen[name] == 0 {
			t.Errorf("no kill at %q", name)
		}
	}
}

// killed kills a run at a step, and goes on in both ways.
func killed(t *testing.T, k int) (name string) {
	r := quickRig(t)
	defer os.RemoveAll(r.root)
	name = spawn(t, r, "run", k)
	if name == "" {
		t.Errorf("there was no step %d", k)
		return ""
	}
	t.Run(fmt.Sprintf("%d %s", k, name), func(t *testing.T) {
		before := r.ended(t)
		saved := memory(t)
		exact(t, r, saved)
		r.complete(t, before)
		exact(t, openRig(saved), r.root)
		r.hooks.runs = 0
		r.putBack(t)
		r.complete(t, before)
	})
	return name
}

// doomed is a service that writes what it will keep, and then no more of it happens.
func doomed(then func()) service.Kind {
	return service.Define(service.Kind{Name: "doomed", Doc: "does not come up", Speaks: []string{"shelf"}}, shelf{},
		func(s shelf) (service.Service, error) { return halfway{s, then}, nil })
}

type halfway struct {
	shelf
	then func()
}

func (h halfway) Start(_ context.Context, env service.Env) (service.Instance, error) {
	err := errors.Join(os.MkdirAll(env.Dir, 0o755), os.WriteFile(filepath.Join(env.Dir, "data"), nil, 0o644))
	h.then()
	return nil, errors.Join(err, errors.New("it did not come up"))
}

// A run that dies while its service starts, before any load is prepared, leaves what the
// service had written: restore knows of it, and removes it.
func TestKillWhileTheServiceStarts(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", memory(t))
	r := quickRig(t)
	if name := spawn(t, r, "serve", 0); name != "start service" {
		t.Fatalf("it died at %q", name)
	}
	left := filepath.Join(r.root, "scratch")
	if _, err := os.Stat(filepath.Join(left, serve.Folder, "doomed", "data")); err != nil {
		t.Fatal(err)
	}
	r.known(t, true)
	said := r.restore(t)
	if want := "removed the files of the service in " + left; !strings.Contains(said, want) {
		t.Errorf("restore said %q, want %q", said, want)
	}
	if _, err := os.Stat(left); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the scratch folder is still there: %v", err)
	}
	r.known(t, false)
	if said := r.restore(t); said != "" {
		t.Errorf("a second restore did %q", said)
	}
}

// A run whose service never came up removes what it had written at its own end.
func TestServiceThatNeverCameUpLeavesNothing(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", memory(t))
	r := quickRig(t)
	b := crashBench(r)
	b.Study.Service = &study.Use{Kind: "doomed"}
	b.Catalog.Services = []service.Kind{doomed(func() {})}
	b.Study.Measure.Retries = 3
	// The first time the trial is void; the second time in a row ends the study, with one line.
	err := b.Run(t.Context())
	if want := "trial 2: service doomed could not be started twice in a row: it did not come up"; err == nil || err.Error() != want {
		t.Errorf("it ended with %v, not %s", err, want)
	}
	if all := r.records(t); len(all) != 1 || !strings.HasPrefix(all[0].Void, "start service doomed: it did not") {
		t.Errorf("%+v", all)
	}
	if _, err := os.Stat(filepath.Join(r.root, "scratch")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the scratch folder is still there: %v", err)
	}
	r.known(t, false)
}

// exact is a copy of a folder, to crash the same state in several ways.
func exact(t *testing.T, from *rig, to string) {
	t.Helper()
	if err := os.RemoveAll(to); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(to, os.DirFS(from.root)); err != nil {
		t.Fatal(err)
	}
}

// TestKillRestore kills a restore at each of its own steps, after a run that
// was killed in the middle of a change.
func TestKillRestore(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", memory(t))
	r := quickRig(t)
	name := ""
	for k := 60; name != "after set"; k++ {
		os.RemoveAll(r.dir())
		os.RemoveAll(r.undo())
		os.RemoveAll(filepath.Join(r.root, "scratch"))
		r.put(t, formers)
		name = spawn(t, r, "run", k)
	}
	before, saved := r.ended(t), memory(t)
	exact(t, r, saved)
	steps := 0
	for name := "?"; name != ""; steps++ {
		exact(t, openRig(saved), r.root)
		name = spawn(t, r, "restore", steps+1)
		if name == "" {
			r.atFormer(t)
			break
		}
		t.Run(fmt.Sprintf("%d %s", steps+1, name), func(t *testing.T) {
			r.hooks.runs = 0
			r.putBack(t)
			r.complete(t, before)
		})
	}
	if steps < 10 {
		t.Errorf("restore has only %d steps", steps)
	}
}

// crash ends do at a step as a crash would: whatever comes after does not happen.
func crash(dieAt int, do func(step func(string))) (name string) {
	n := 0
	crashWhen(func(at string) bool {
		if n++; n == dieAt {
			name = at
		}
		return n == dieAt
	}, do)
	return name
}

// crashAt is crash at the first step with a name, and says whether that came.
func crashAt(name string, do func(step func(string))) (came bool) {
	crashWhen(func(at string) bool {
		came = came || at == name
		return came
	}, do)
	return came
}

func crashWhen(due func(name string) bool, do func(step func(string))) {
	var wait sync.WaitGroup
	wait.Go(func() {
		do(func(name string) {
			if due(name) {
				runtime.Goexit()
			}
		})
	})
	wait.Wait()
}

// TestSecondInterrupt cancels a run in the middle of a load and kills it while
// it puts things back.
func TestSecondInterrupt(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", memory(t))
	for k := 1; ; k++ {
		r := quickRig(t)
		name := crash(k, func(step func(string)) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			b, interrupted := crashBench(r), false
			r.hooks.during = func(int) {
				if r.hooks.runs == 2 {
					cancel()
					interrupted = true
				}
			}
			b.step = func(n string) {
				if interrupted {
					step(n)
				}
			}
			if err := b.Run(ctx); !errors.Is(err, context.Canceled) {
				t.Errorf("error %v", err)
			}
		})
		if name == "" {
			if k < 20 {
				t.Errorf("only %d steps after an interrupt", k)
			}
			return
		}
		t.Run(fmt.Sprintf("%d %s", k, name), func(t *testing.T) {
			r.hooks.during, r.hooks.runs = nil, 0
			before := r.ended(t)
			if len(before) != 1 {
				t.Errorf("%d trials ended, want 1", len(before))
			}
			r.putBack(t)
			r.complete(t, before)
		})
	}
}

// TestCrashTwice lets a run crash, lets the resumed one crash as well, and
// looks at what the third does.
func TestCrashTwice(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", memory(t))
	for first := 3; ; first += 17 {
		name := ""
		for second := 2; ; second += 19 {
			r := quickRig(t)
			run := func(step func(string)) {
				b := crashBench(r)
				b.step = step
				if err := b.Run(t.Context()); err != nil {
					t.Error(err)
				}
			}
			name = crash(first, run)
			again := crash(second, run)
			t.Run(fmt.Sprintf("%d %s, %d %s", first, name, second, again), func(t *testing.T) {
				r.hooks.runs = 0
				before := r.ended(t)
				if second%2 == 0 {
					r.putBack(t)
				}
				r.complete(t, before)
			})
			os.RemoveAll(r.root)
			if again == "" || name == "" {
				break
			}
		}
		if name == "" {
			return
		}
	}
}

// TestLossOfPower lets a run crash between the writing of a line and its sync.
// The disk may then hold any part of the line, and the machine may come up with
// its former settings or with the changed ones.
func TestLossOfPower(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", memory(t))
	type tail func(data []byte, synced int) []byte
	names := []string{"the line is lost", "half the line", "all but the end", "zeros"}
	tails := map[string]tail{
		"the line is lost": func(data []byte, synced int) []byte { return data[:synced] },
		"half the line":    func(data []byte, synced int) []byte { return data[:(synced+len(data))/2] },
		"all but the end":  func(data []byte, _ int) []byte { return data[:len(data)-1] },
		"zeros": func(data []byte, synced int) []byte {
			return append(data[:synced:synced], make([]byte, len(data)-synced)...)
		},
	}
	cuts := 0
	for k := 1; ; k++ {
		r := quickRig(t)
		name, lines := "", 0
		crashWhen(func(at string) bool {
			if strings.HasPrefix(at, "written journal") {
				if lines++; lines == k {
					name = at
				}
			}
			return name != ""
		}, func(step func(string)) {
			b := crashBench(r)
			b.step = step
			if err := b.Run(t.Context()); err != nil {
				t.Error(err)
			}
		})
		if name == "" {
			break
		}
		saved := memory(t)
		exact(t, r, saved)
		for range 2 {
			what := names[cuts%len(names)]
			tail := tails[what]
			cuts++
			exact(t, openRig(saved), r.root)
			r.hooks.runs = 0
			journal := filepath.Join(r.dir(), journal.Name)
			data, err := os.ReadFile(journal)
			if err != nil {
				t.Fatal(err)
			}
			synced := strings.LastIndex(strings.TrimSuffix(string(data), "\n"), "\n") + 1
			if err := os.WriteFile(journal, tail(data, synced), 0o644); err != nil {
				t.Fatal(err)
			}
			t.Run(fmt.Sprintf("%d %s, %s", k, name, what), func(t *testing.T) {
				if cuts%3 == 0 {
					r.put(t, formers)
				}
				before := maps.Clone(r.ended(t))
				if cuts%5 < 2 {
					r.putBack(t)
				}
				r.complete(t, before)
			})
		}
	}
	if cuts < 50 {
		t.Errorf("only %d losses of power were tried", cuts)
	}
}
