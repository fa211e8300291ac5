package desktop

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"plimsoll/internal/load"
	"plimsoll/internal/load/loadtest"
	"plimsoll/internal/measure"
	"plimsoll/internal/parameter"
	"plimsoll/internal/workload"
	"plimsoll/internal/workload/workloadtest"
)

// quick is the kind with operations as short as the fakes are.
func quick() workload.Kind { return kind(time.Millisecond) }

func files(t *testing.T, env workload.Env) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(env.Dir, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) && path == env.Dir {
			return fs.SkipAll
		}
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err == nil {
			all[path] = info.ModTime().String()
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestContract(t *testing.T) {
	newFakes(t)
	workloadtest.Run(t, quick(), workloadtest.Options{
		Settings: []parameter.Settings{
			{"sessions": "2", "loop": "50ms"},
			{"profile": "light", "sessions": "3", "loop": "0s", "think": "constant", "logons": "3"},
		},
		Env: here, Files: files, Length: loadtest.Short(time.Second),
	})
}

// made is a load that is ready to run, with a base phase that has been.
func made(t *testing.T, s parameter.Settings) (workload.Load, workload.Env) {
	t.Helper()
	l, err := quick().New(s)
	if err != nil {
		t.Fatal(err)
	}
	env := here(t)
	if err := l.Prepare(t.Context(), env); err != nil {
		t.Fatal(err)
	}
	d := l.(*desktop)
	r := &reference{names: d.names(), loops: make([]float64, 20)}
	for range r.names {
		r.repeats, r.seconds = append(r.repeats, 1), append(r.seconds, .01)
	}
	for i := range r.loops {
		r.loops[i] = alike * float64(len(r.names))
	}
	if err := env.Machine.WriteFile(t.Context(), filepath.Join(folder(env), d.referenceFile()), []byte(r.String())); err != nil {
		t.Fatal(err)
	}
	return l, env
}

// ran runs a load until so many operations have ended.
func ran(t *testing.T, l workload.Load, env workload.Env, operations int64) (*measure.Recorder, error) {
	t.Helper()
	out := measure.NewRecorder(func(r *measure.Recorder) bool {
		ended := int64(0)
		for _, in := range r.Intervals() {
			for _, s := range in.Samples {
				ended += s.Operations + s.Errors
			}
		}
		return ended >= operations
	})
	return out, l.Run(t.Context(), env, load.Stage{Length: 10 * time.Minute, Interval: 20 * time.Millisecond, Seed: 3}, out)
}

func TestSessions(t *testing.T) {
	newFakes(t)
	l, env := made(t, parameter.Settings{"sessions": "3", "loop": "20ms"})
	out, err := ran(t, l, env, 80)
	if err != nil {
		t.Fatal(err)
	}
	v := out.Values()
	if v["sessions"] != 3 || v["lost"] != 0 || v["stuck"] != 0 || v["baseline"] < 1.999 || v["baseline"] > 2.001 || v["response"] <= 0 || v["logon.mean"] <= 0 || v["logon.max"] < v["logon.mean"] || v["loop.cpu"] <= 0 || v["session.memory"] < 1<<18 {
		t.Errorf("%v", v)
	}
	if want := max(0, v["response"]-v["baseline"]); v["response.excess"] != want {
		t.Errorf("the excess is %g, want %g", v["response.excess"], want)
	}
	loops := 0
	for _, in := range out.Intervals() {
		if s, err := measure.Summarise([]measure.Interval{in}, measure.Window{Cut: in.From.Seconds(), End: in.To.Seconds()}, "operations"); err == nil && s.Values["loop.mean"] > 0 {
			loops++
		}
	}
	if loops == 0 {
		t.Error("no interval has the response of a loop")
	}
	seen := out.Observed()
	if seen["desktop.sessions"] != "3" || seen["desktop.profile"] != "knowledge" || !strings.Contains(seen["desktop.reference.knowledge"], "save=1*0.01") {
		t.Errorf("%v", seen)
	}
	if left, _ := os.ReadDir(filepath.Join(folder(env), "sessions")); len(left) > 0 {
		t.Errorf("%v are left", left)
	}
	checks := map[string]measure.State{}
	for _, c := range out.Checks() {
		checks[c.Name] = c.State
	}
	if checks["weights"] != measure.Pass || checks["sessions"] != measure.Pass || checks["accounting"] != measure.Pass {
		t.Errorf("%+v", out.Checks())
	}
}

// Each wrong result fails its operation, and says what is wrong.
func TestWrongResults(t *testing.T) {
	f := newFakes(t)
	l, env := made(t, nil)
	b, err := l.(*desktop).open(t.Context(), env)
	if err != nil {
		t.Fatal(err)
	}
	p, err := b.enter(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		p.leave()
		if err := b.close(); err != nil {
			t.Error(err)
		}
	}()
	for _, c := range []struct{ file, content, operation, want string }{
		{"letter.txt", "another", "open", "0 titles in the text instead of 12"},
		{"letter.pdf", "%PDF-1.6 <</Type/Page>>", "pdf", "1 pages instead of 12"},
		{"letter.docx", "PK", "docx", "it is no office document"},
		{"table.xlsx", string(zipped(t, "xl/worksheets/sheet1.xml", "<row ")), "sheet", `1 of "<row" instead of 3000`},
		{"title-1", "loading", "page", `the title of the page is "loading" instead of "desktop 1 `},
		{"page.png", "", "screenshot", "it is no picture"},
		{"view.ppm", "P6\n2 1\n255\nabcdef", "view", "page 1 has 2 x 1 pixels"},
		{"7z.sh", `[ "$1" = t ] && exit 2`, "archive", "7z: exit status 2"},
		{"7z.sh", `[ "$1" = t ] && exit 2`, "pack", "7z: exit status 2"},
		{"soffice.sh", "exit 0", "docx", "open "},
		{"pdftoppm.sh", "echo out of paper >&2; exit 3", "view", "pdftoppm: exit status 3: out of paper"},
	} {
		o := b.loop[slices.IndexFunc(b.loop, func(o operation) bool { return o.name == c.operation })]
		if err := p.perform(t.Context(), o); err != nil {
			t.Errorf("%s with the right result: %v", c.operation, err)
		}
		f.write(t, c.file, []byte(c.content))
		wrong := (*wrongError)(nil)
		err := p.perform(t.Context(), o)
		if want := c.operation + " of session 1: " + c.want; err == nil || !strings.HasPrefix(err.Error(), want) || errors.As(err, &wrong) == (c.file == "pdftoppm.sh") {
			t.Errorf("got %v, want %s", err, want)
		}
		if strings.HasSuffix(c.file, ".sh") {
			f.write(t, c.file, nil)
		}
		f.results(t)
	}
}

// A wrong result is a failed check of data, and the operation that gave it has no part in a response.
func TestAWrongResultFailsTheLoad(t *testing.T) {
	f := newFakes(t)
	l, env := made(t, parameter.Settings{"profile": "office", "loop": "0s"})
	f.write(t, "letter.pdf", []byte("%PDF-1.6 <</Type/Page>>"))
	out, err := ran(t, l, env, 12)
	if err != nil {
		t.Fatal(err)
	}
	if failed := measure.DataFailures(out.Checks()); len(failed) != 1 || failed[0].Detail != "pdf of session 1: 1 pages instead of 12" {
		t.Errorf("%+v", failed)
	}
	if v, known := out.Values()["response"]; known {
		t.Errorf("the response is %g", v)
	}
}

// A session that others kill is lost, and makes no mean better: the load fails its check.
func TestAKilledSession(t *testing.T) {
	f := newFakes(t)
	l, env := made(t, parameter.Settings{"profile": "light", "sessions": "3", "loop": "20ms"})
	f.write(t, "pdftoppm.sh", []byte(`case "$PWD" in */2/work) kill -s KILL 0 ;; esac`))
	out, err := ran(t, l, env, 60)
	if err != nil {
		t.Fatal(err)
	}
	if v := out.Values(); v["lost"] != 1 || v["sessions"] != 2 {
		t.Errorf("%v", v)
	}
	for _, c := range out.Checks() {
		if c.Name == "sessions" && (c.State != measure.Fail || !strings.Contains(c.Detail, "session 2 was lost")) {
			t.Errorf("%+v", c)
		}
	}
}

// An operation that is stuck counts as long as it may take, and its session goes on.
func TestAStuckSession(t *testing.T) {
	f := newFakes(t)
	l, env := made(t, parameter.Settings{"profile": "light", "sessions": "2", "loop": "20ms", "timeout": "2s"})
	once := filepath.Join(f.folder, "once")
	f.write(t, "pdftoppm.sh", fmt.Appendf(nil, `mkdir %s 2>/dev/null && sleep 1000`, once))
	timedOut, after := int64(0), 0
	out := measure.NewRecorder(func(r *measure.Recorder) bool { // some time after an operation timed out, in which its session works again
		all := r.Intervals()
		for _, s := range all[len(all)-1].Samples {
			timedOut += s.TimedOut
			if timedOut > 0 {
				after += int(s.Operations)
			}
		}
		return after >= 20
	})
	if err := l.Run(t.Context(), env, load.Stage{Length: 10 * time.Minute, Interval: 20 * time.Millisecond, Seed: 3}, out); err != nil {
		t.Fatal(err)
	}
	if v := out.Values(); v["stuck"] < 1 || v["sessions"] < 1 || v["lost"] != 0 || timedOut < 1 || v["response"] <= 0 {
		t.Errorf("%v, %d timed out", v, timedOut)
	}
}

// The sessions of a ramp join one by one, and the published rules are applied.
func TestRamp(t *testing.T) {
	newFakes(t)
	l, env := made(t, parameter.Settings{"profile": "light", "sessions": "4", "loop": "5ms", "ramp": "60ms"})
	if !l.Demand().Ramps {
		t.Error("the demand does not tell of the ramp")
	}
	out, err := ran(t, l, env, 100)
	if err != nil {
		t.Fatal(err)
	}
	v := out.Values()
	if out.Observed()["desktop.sessions"] != "4" || v["sessions"] != 4 || v["v41.baseline"] < .799 || v["v41.baseline"] > .801 {
		t.Errorf("%v, %v", out.Observed(), v)
	}
	told := map[string]string{}
	for _, c := range out.Checks() {
		told[c.Name] = c.Detail
	}
	for _, name := range []string{"sessions by the 4.1 rule", "sessions by the 4.0 rule", "sessions by the 3 rule"} {
		if !strings.Contains(told[name], "baseline") {
			t.Errorf("%s: %q", name, told[name])
		}
	}
}

// The process that holds the page server ends with the load; one that is gone before is named.
func TestThePageServerIsGone(t *testing.T) {
	newFakes(t)
	l, env := made(t, nil)
	d := l.(*desktop)
	b, err := d.open(t.Context(), env)
	if err != nil {
		t.Fatal(err)
	}
	p, err := b.enter(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	defer p.leave()
	if err := b.server.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(p.session.Path("work/x"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	gone := operation{name: "page", program: "browser", command: func(*place) []string { return []string{"true"} }, check: d.loop[4].check}
	if err := p.perform(t.Context(), gone); err == nil || !strings.Contains(err.Error(), "the page server is gone") {
		t.Errorf("got %v", err)
	}
}

func TestRefused(t *testing.T) {
	f := newFakes(t)
	l, err := quick().New(nil)
	if err != nil {
		t.Fatal(err)
	}
	env := here(t)
	needs, err := l.Check(t.Context(), env)
	if err != nil || needs.Versions["soffice"] != "LibreOffice 7" || needs.Versions["chromium"] != "Chromium 1.2" || needs.Versions["7z"] != "7-Zip 16.02" || needs.Versions["pdftoppm"] != "pdftoppm 22" {
		t.Errorf("%+v, %v", needs, err)
	}
	for _, name := range []string{"libsclo.so", "7z", "chromium"} {
		if err := os.Remove(filepath.Join(f.folder, name)); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", f.folder+":"+essentials(t))
	_, err = l.Check(t.Context(), env)
	if err == nil || !strings.Contains(err.Error(), "lacks soffice, chromium, 7z: apt install libreoffice-writer-nogui libreoffice-calc-nogui chromium p7zip-full") || strings.Contains(err.Error(), "\n") {
		t.Errorf("got %v", err)
	}
	if files := files(t, env); len(files) > 0 {
		t.Errorf("the check made %v", files)
	}
	for _, s := range []parameter.Settings{{"profile": "gamer"}, {"sessions": "0"}, {"ramp": "1us"}, {"base": "3"}, {"timeout": "1ms"}, {"think": "deeply"}} {
		if _, err := quick().New(s); err == nil {
			t.Errorf("%v passes", s)
		}
	}
}

// essentials is a folder with the programs of the system that fakes need, and none of those that a profile looks for.
func essentials(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	for _, name := range []string{"sh", "readlink", "test", "dd", "cat"} {
		for _, at := range []string{"/bin", "/usr/bin"} {
			if _, err := os.Stat(filepath.Join(at, name)); err == nil {
				if err := os.Symlink(filepath.Join(at, name), filepath.Join(folder, name)); err != nil {
					t.Fatal(err)
				}
				break
			}
		}
	}
	return folder
}

func TestAProfileThatCannotBeWritten(t *testing.T) {
	newFakes(t)
	l, env := made(t, parameter.Settings{"profile": "light"})
	if err := os.Chmod(folder(env), 0o500); err != nil {
		t.Fatal(err)
	}
	defer os.Chmod(folder(env), 0o700) //nolint:errcheck // the folder is temporary
	if os.Getuid() == 0 {              // to whom permissions mean nothing
		if err := os.Chmod(folder(env), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.RemoveAll(documents(env)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := ran(t, l, env, 1); err == nil || !strings.Contains(err.Error(), folder(env)) {
		t.Errorf("got %v", err)
	}
}

// A load whose base phase is not there says so; the first trial's is taken on other machines.
func TestTheReferenceIsShared(t *testing.T) {
	newFakes(t)
	l, env := made(t, parameter.Settings{"profile": "light"})
	d := l.(*desktop)
	name := filepath.Join(folder(env), d.referenceFile())
	known, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if most, err := d.Calibration(t.Context(), env); most != 0 || err != nil {
		t.Errorf("%s, %v", most, err)
	}
	if err := os.Remove(name); err != nil {
		t.Fatal(err)
	}
	if _, err := ran(t, l, env, 1); err == nil || !strings.Contains(err.Error(), "base phase") {
		t.Errorf("got %v", err)
	}
	if most, err := d.Calibration(t.Context(), env); most <= 0 || err != nil {
		t.Errorf("%s, %v", most, err)
	}
	env.Known = map[string]string{"desktop.reference.light": "view=1*0.1"}
	if most, err := d.Calibration(t.Context(), env); most <= 0 || err != nil {
		t.Errorf("a reference that is cut off: %s, %v", most, err)
	}
	env.Known["desktop.reference.light"] = string(known)
	if most, err := d.Calibration(t.Context(), env); most != 0 || err != nil {
		t.Errorf("%s, %v", most, err)
	}
	if again, err := os.ReadFile(name); err != nil || string(again) != string(known) {
		t.Errorf("%s, %v", again, err)
	}
}

// Short operations are repeated until they take long enough alone.
func TestShortOperationsAreRepeated(t *testing.T) {
	d := &desktop{least: 100 * time.Millisecond}
	if got := d.repeats([]float64{.5, .1, .099, .006, 1e-9}); !slices.Equal(got, []int{1, 1, 2, 17, mostRepeats}) {
		t.Errorf("%v", got)
	}
}

// Log-ons wait for one another, as many at a time as the study says.
func TestLogOnsTakeTurns(t *testing.T) {
	f := newFakes(t)
	f.write(t, "soffice.sh", fmt.Appendf(nil, `case "$*" in *terminate*) mkdir %[1]s/busy || touch %[1]s/met; sleep .02; rmdir %[1]s/busy ;; esac`, f.folder))
	l, env := made(t, parameter.Settings{"sessions": "4", "loop": "10ms", "logons": "1"})
	if _, err := ran(t, l, env, 4); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(f.folder, "met")); err == nil {
		t.Error("two sessions logged on at the same time")
	}
}

func TestCancelledLoadsLeaveNoProcess(t *testing.T) {
	f := newFakes(t)
	l, env := made(t, parameter.Settings{"profile": "light", "sessions": "2", "loop": "0s"})
	f.write(t, "pdftoppm.sh", fmt.Appendf(nil, `echo $$ >%[1]s/pid.new; mv %[1]s/pid.new %[1]s/pid; exec sleep 1000`, f.folder))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	out := measure.NewRecorder(func(*measure.Recorder) bool {
		if _, err := os.Stat(filepath.Join(f.folder, "pid")); err == nil {
			cancel()
		}
		return false
	})
	if err := l.Run(ctx, env, load.Stage{Length: time.Minute, Interval: 10 * time.Millisecond}, out); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	text, err := os.ReadFile(filepath.Join(f.folder, "pid"))
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, 0); err == nil {
		state, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if !strings.Contains(string(state), ") Z ") {
			t.Errorf("process %d is left: %s", pid, state)
		}
	}
}
