package compile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"plimsoll/internal/load"
	"plimsoll/internal/load/loadtest"
	"plimsoll/internal/measure"
	"plimsoll/internal/parameter"
	"plimsoll/internal/platforms/local"
	"plimsoll/internal/workload"
	"plimsoll/internal/workload/compile/lua"
	"plimsoll/internal/workload/workloadtest"
)

func kind() workload.Kind { return Kind(lua.Release) }

// pretender is a compiler that compiles nothing, at once. Its programs say what the one
// that is built must say; what is planted is done before each command.
func pretender(t *testing.T, planted string) string {
	t.Helper()
	_, want := trial()
	path := filepath.Join(t.TempDir(), "pretender")
	text := fmt.Sprintf(`#!/bin/sh
for a; do last=$a; done
%s
case "$*" in
--version) echo "pretender 1.0"; exit ;;
*-fsyntax-only*) cat >/dev/null; exit ;;
esac
while [ "$1" != -o ]; do shift; done
case "$last" in
*.c) echo "$last" >"$2" ;;
*) echo '#!/bin/sh' >"$2.new"; echo 'echo %s' >>"$2.new"; chmod +x "$2.new"; mv "$2.new" "$2" ;;
esac
`, planted, want)
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

func here(t *testing.T) workload.Env {
	t.Helper()
	p, err := local.Kind().Open(t.Context(), nil, 1)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return workload.Env{Machine: p.Machine(), Dir: filepath.Join(t.TempDir(), "scratch")}
}

// files are those of the scratch folder.
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
	workloadtest.Run(t, kind(), workloadtest.Options{
		Settings: []parameter.Settings{{"compiler": pretender(t, "")}, {"compiler": pretender(t, ""), "jobs": "5"}},
		Env:      here, Files: files, Length: loadtest.Short(240 * time.Millisecond),
	})
}

// ran prepares and runs a load.
func ran(t *testing.T, s parameter.Settings, stage load.Stage) (*measure.Recorder, workload.Env, error) {
	t.Helper()
	l, err := kind().New(s)
	if err != nil {
		t.Fatal(err)
	}
	env := here(t)
	if _, err := l.Check(t.Context(), env); err != nil {
		t.Fatal(err)
	}
	if err := l.Prepare(t.Context(), env); err != nil {
		t.Fatal(err)
	}
	out := measure.NewRecorder(thrice)
	return out, env, l.Run(t.Context(), env, stage, out)
}

// thrice is enough for a load once it has done the units of three builds and more.
func thrice(r *measure.Recorder) bool {
	ended := int64(0)
	for _, in := range r.Intervals() {
		for _, s := range in.Samples {
			ended += s.Operations + s.Errors
		}
	}
	return ended > 3*sourceUnits
}

func TestTheSourceIsTheOneThatWasPublished(t *testing.T) {
	if err := checkSource(lua.Release); err != nil {
		t.Error(err)
	}
	changed := slices.Clone(lua.Release)
	changed[1000]++
	for _, archive := range [][]byte{nil, changed} {
		l, err := Kind(archive).New(nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := l.Prepare(t.Context(), here(t)); err == nil {
			t.Errorf("an archive of %d bytes passed", len(archive))
		}
	}
	_, env, err := ran(t, parameter.Settings{"compiler": pretender(t, "")}, load.Stage{Length: time.Minute, Interval: 50 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(env.Dir, folderName, sourceDir)
	own := 0
	all, err := units(dir)
	for _, u := range all {
		if isOwn(u.object()) {
			own++
		}
	}
	if err != nil || own != len(programs()) {
		t.Errorf("%d units with a program of their own, %v", own, err)
	}
	if err := os.WriteFile(filepath.Join(dir, "lapi.c"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := units(dir); err == nil {
		t.Error("a source that was changed passed")
	}
}

func TestTheLevelIsReadFromTheObject(t *testing.T) {
	for object, want := range map[string]string{
		"": "", "\x00GNU C99 12 -mtune=generic -O2 -std=gnu99\x00": "O2", "\x00-O0\x00-c\x00": "O0", "x-O2 ": "", " -O27 ": "", " -Os": "Os", " -O1 -O3 ": "O3", "-O": "",
	} {
		if got := recorded([]byte(object)); got != want {
			t.Errorf("%q: %q, want %q", object, got, want)
		}
	}
}

func TestBuildsAreTimed(t *testing.T) {
	out, env, err := ran(t, parameter.Settings{"compiler": pretender(t, ""), "jobs": "3"}, load.Stage{Length: time.Minute, Interval: 50 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	v := out.Values()
	if v["build.time"] <= 0 || v["build.max"] < v["build.time"] || v["build.cpu"] <= 0 || v["builds"] <= 0 {
		t.Errorf("got %v", v)
	}
	if seen := out.Observed(); seen["compile.jobs"] != "3" {
		t.Errorf("got %v", seen)
	}
	for _, c := range out.Checks() {
		if c.State == measure.Fail || c.Name == "whole builds" && c.State != measure.Pass {
			t.Errorf("%+v", c)
		}
	}
	if left, err := os.ReadDir(filepath.Join(env.Dir, folderName, temporary)); err != nil || len(left) > 0 {
		t.Errorf("%v is left, %v", left, err)
	}
}

// What goes wrong in a build fails an operation and is told; the next build begins anew.
func TestABuildThatGoesWrongFails(t *testing.T) {
	marker := filepath.Join(t.TempDir(), "marker")
	for name, c := range map[string]struct{ planted, says string }{
		"unit":    {`case "$last" in lgc.c) echo "lgc.c:1: lost" >&2; exit 1 ;; esac`, "lgc.c:1: lost"},
		"link":    {`case "$last" in -lm) echo "ld: no room" >&2; exit 1 ;; esac`, "ld: no room"},
		"answer":  {`case "$last" in -lm) while [ "$1" != -o ]; do shift; done; printf '#!/bin/sh\necho 7\n' >"$2.new"; chmod +x "$2.new"; mv "$2.new" "$2"; exit ;; esac`, "computes incorrectly"},
		"program": {`case "$last" in -lm) while [ "$1" != -o ]; do shift; done; case "$2" in */lua) echo >>` + marker + `; echo "#!/bin/sh" >"$2.new"; echo "echo ` + wanted() + `" >>"$2.new"; cat ` + marker + ` >>"$2.new"; chmod +x "$2.new"; mv "$2.new" "$2"; exit ;; esac ;; esac`, "another program"},
	} {
		out, _, err := ran(t, parameter.Settings{"compiler": pretender(t, c.planted), "jobs": "4"}, load.Stage{Length: time.Minute, Interval: 50 * time.Millisecond})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		failed, said := int64(0), ""
		for _, in := range out.Intervals() {
			for _, s := range in.Samples {
				failed += s.Errors
			}
		}
		for _, check := range out.Checks() {
			said += check.Detail + "\n"
		}
		if failed == 0 || !strings.Contains(said, c.says) {
			t.Errorf("%s: %d failed; the checks say %s", name, failed, said)
		}
	}
}

func wanted() string { _, want := trial(); return want }

func TestAShortLoadHasNoTimeOfABuild(t *testing.T) {
	slow := pretender(t, `case "$last" in *.c) sleep .05 ;; esac`)
	out, _, err := ran(t, parameter.Settings{"compiler": slow, "jobs": "1"}, load.Stage{Length: 200 * time.Millisecond, Interval: 100 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	if _, has := out.Values()["build.time"]; has {
		t.Error("it has one")
	}
	found := false
	for _, c := range out.Checks() {
		found = found || c.Name == "whole builds" && c.State == measure.Unknown && strings.Contains(c.Detail, "measure.window")
	}
	if !found {
		t.Errorf("the checks do not say why: %+v", out.Checks())
	}
}

func TestAMachineWithoutACompilerIsRefused(t *testing.T) {
	broken := pretender(t, `case "$*" in *-fsyntax-only*) echo "stdio.h: no such file" >&2; exit 1 ;; esac`)
	for compiler, hint := range map[string]string{"/nowhere/cc": "workload processor", broken: "libc6-dev"} {
		l, err := kind().New(parameter.Settings{"compiler": compiler})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := l.Check(t.Context(), here(t)); err == nil || !strings.Contains(err.Error(), hint) {
			t.Errorf("%s: got %v", compiler, err)
		}
	}
	for _, s := range []parameter.Settings{{"compiler": ""}, {"jobs": "0"}, {"optimise": "O9"}} {
		if _, err := kind().New(s); err == nil {
			t.Errorf("%v passed", s)
		}
	}
}

// cpuOfChildren is the CPU time of the programs that this one has run and that have ended.
func cpuOfChildren(t *testing.T) time.Duration {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_CHILDREN, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// The real thing: the compilers of this machine build the real program.
func TestTheCompilersOfThisMachine(t *testing.T) {
	if os.Getenv("PLIMSOLL_REAL") == "" {
		t.Skip("set PLIMSOLL_REAL=1 to run compilers")
	}
	for _, name := range []string{"gcc", "clang"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Logf("there is no %s here", name)
			continue
		}
		l, err := kind().New(parameter.Settings{"compiler": name, "jobs": "2", "optimise": "O1"})
		if err != nil {
			t.Fatal(err)
		}
		env := here(t)
		needs, err := l.Check(t.Context(), env)
		if err != nil || needs.Versions["compiler"] == "" {
			t.Fatalf("%+v, %v", needs, err)
		}
		if err := l.Prepare(t.Context(), env); err != nil {
			t.Fatal(err)
		}
		out, before := measure.NewRecorder(thrice), cpuOfChildren(t)
		if err := l.Run(t.Context(), env, load.Stage{Length: 5 * time.Minute, Interval: 250 * time.Millisecond}, out); err != nil {
			t.Fatal(err)
		}
		spent := (cpuOfChildren(t) - before).Seconds() // of all builds, also on a busy machine
		v, seen := out.Values(), out.Observed()
		if v["build.time"] <= 0 || 3*v["build.cpu"] < spent/2 || 3*v["build.cpu"] > 1.05*spent || seen["compile.optimise"] != "O1" || seen["compile.jobs"] != "2" || seen["compile.compiler"] != name {
			t.Errorf("%s: %v, %v; all builds took %.2f s of CPU", name, v, seen, spent)
		}
		t.Logf("all builds took %.2f s of CPU", spent)
		for _, c := range out.Checks() {
			if c.State != measure.Pass {
				t.Errorf("%s: %+v", name, c)
			}
		}
		t.Logf("%s: a build takes %.2f s, %.2f s of CPU", needs.Versions["compiler"], v["build.time"], v["build.cpu"])
		if err := l.Clean(t.Context(), env); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(env.Dir); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("the scratch folder is left: %v", err)
		}
	}
}
