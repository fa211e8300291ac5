package trial

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"plimsoll/internal/factor"
	"plimsoll/internal/study"
	"plimsoll/internal/trial/journal"
)

// left makes a rig whose run crashed at the first step that has a name.
func leftAt(t *testing.T, s *study.Study, name string) *rig {
	t.Helper()
	t.Setenv("XDG_STATE_HOME", memory(t))
	r := newRig(t)
	if crashAt(name, func(step func(string)) {
		b := r.bench(t, s, 1)
		b.step = step
		b.Run(t.Context())
	}) {
		return r
	}
	t.Fatalf("no step %q", name)
	return nil
}

func (r *rig) restore(t *testing.T) string {
	t.Helper()
	said, err := r.restored(t.Context(), r.catalog())
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(said, "\n")
}

func TestRestoreSaysWhatItDid(t *testing.T) {
	r := leftAt(t, exampleStudy(), "before write trial")
	now := r.present(t)
	said := r.restore(t)
	r.atFormer(t)
	want := strings.Join([]string{
		`command.mine put back from "` + now["mine"] + `" to "c"`,
		`host.two:x put back from "1" to "b\nformer"`,
		`host.one put back from "` + now["host.one"] + `" to "a former"`,
		`removed the files of workload driven in ` + filepath.Join(r.root, "scratch"),
	}, "\n")
	if diff := cmp.Diff(want, said); diff != "" {
		t.Errorf("it said something else (-want +got):\n%s", diff)
	}
	if again := r.restore(t); again != "" {
		t.Errorf("the second time it said %q", again)
	}
}

func TestSomebodyElsesChangeIsLeft(t *testing.T) {
	r := leftAt(t, exampleStudy(), "before write trial")
	r.put(t, map[string]string{"host.one": "by hand"})
	said := r.restore(t)
	if want := `host.one is at "by hand", which plimsoll did not set: left alone (its former level was "a former")`; !strings.Contains(said, want) {
		t.Errorf("said\n%s\nwant %s", said, want)
	}
	now := r.present(t)
	if now["host.one"] != "by hand" || now["host.two_x"] != formers["host.two_x"] {
		t.Errorf("the machine is at %v", now)
	}
	if again := r.restore(t); again != "" {
		t.Errorf("the second time it said %q", again)
	}
	if dirs, err := r.unfinished(); err != nil || len(dirs) > 0 {
		t.Errorf("unfinished %v, %v", dirs, err)
	}
}

// A change that was cut off in the middle may have left anything.
func TestMidwayIsPutBackWhateverItReads(t *testing.T) {
	r := leftAt(t, exampleStudy(), "before set")
	r.put(t, map[string]string{"host.one": "half of it"})
	r.restore(t)
	r.atFormer(t)
}

// What the machine made of a level is ours as well.
func TestLevelSeenIsPutBack(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", memory(t))
	r := newRig(t)
	r.lie = map[string]string{"on": "rounded"}
	crashed := false
	crashWhen(func(at string) bool {
		crashed = crashed || at == "before write trial" && r.present(t)["host.one"] == "rounded"
		return crashed
	}, func(step func(string)) {
		b := r.bench(t, exampleStudy(), 1)
		b.step = step
		b.Run(t.Context())
	})
	if !crashed {
		t.Fatal("no crash while the setting lied")
	}
	r.restore(t)
	r.atFormer(t)
}

// One setting that cannot be put back does not keep the others from it, and
// stays on the list.
func TestRestoreGoesOnAfterAnError(t *testing.T) {
	r := leftAt(t, exampleStudy(), "before write trial")
	broken := r.catalog()
	broken.Factors[1] = knob("host.two", map[string]string{formers["host.two_x"]: "error"})
	said, err := r.restored(t.Context(), broken)
	if err == nil || !strings.Contains(err.Error(), `restore host.two:x to "b\nformer": no such level`) {
		t.Fatalf("error %v", err)
	}
	if len(said) != 3 || r.present(t)["host.one"] != formers["host.one"] {
		t.Errorf("said %q, machine at %v", said, r.present(t))
	}
	if dirs, err := r.unfinished(); err != nil || !slices.Equal(dirs, []string{r.dir()}) {
		t.Errorf("unfinished %v, %v", dirs, err)
	}
	broken.Factors[1] = knob("host.two", map[string]string{formers["host.two_x"]: "lie"})
	if _, err := r.restored(t.Context(), broken); err == nil || !strings.Contains(err.Error(), `it reads "lie" afterwards`) {
		t.Fatalf("error %v", err)
	}
	r.restore(t)
	r.atFormer(t)
}

func TestRestoreNeedsItsFactors(t *testing.T) {
	r := leftAt(t, exampleStudy(), "before write trial")
	without := r.catalog()
	without.Factors = slices.DeleteFunc(without.Factors, func(f factor.Factor) bool { return f.Name == "host.one" })
	_, err := r.restored(t.Context(), without)
	if err == nil || !strings.Contains(err.Error(), `restore host.one to "a former": factor host.one: not in this version of plimsoll`) {
		t.Errorf("error %v", err)
	}
}

// What happens to the results folder of a dead run does not matter to what it left: that is in the undo log.
func TestRestoreWithoutTheResultsFolder(t *testing.T) {
	for name, do := range map[string]func(r *rig) error{
		"removed":           func(r *rig) error { return os.RemoveAll(r.dir()) },
		"moved":             func(r *rig) error { return os.Rename(r.dir(), r.dir()+"2") },
		"damaged":           func(r *rig) error { return os.WriteFile(filepath.Join(r.dir(), journal.Name), []byte("x"), 0o644) },
		"without a journal": func(r *rig) error { return os.Remove(filepath.Join(r.dir(), journal.Name)) },
		"replaced by a link": func(r *rig) error {
			return errors.Join(os.Rename(r.dir(), r.dir()+"2"), os.Symlink(r.dir()+"2", r.dir()))
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := leftAt(t, exampleStudy(), "before write trial")
			if err := do(r); err != nil {
				t.Fatal(err)
			}
			r.restore(t)
			r.atFormer(t)
			if dirs, err := r.unfinished(); err != nil || len(dirs) > 0 {
				t.Errorf("unfinished %v, %v", dirs, err)
			}
		})
	}
}

// A folder that was moved is found by the name of its run.
func TestRestoreOfAMovedFolder(t *testing.T) {
	r := leftAt(t, exampleStudy(), "before write trial")
	moved := r.dir() + "2"
	if err := os.Rename(r.dir(), moved); err != nil {
		t.Fatal(err)
	}
	if logs, err := journal.LogsOf(moved, r.undo()); err != nil || len(logs) != 1 {
		t.Errorf("undo logs %v, %v", logs, err)
	}
}

func TestUnreadableUndoLogIsNamed(t *testing.T) {
	r := leftAt(t, exampleStudy(), "before write trial")
	logs, err := journal.LogsOf(r.dir(), r.undo())
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(logs[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(logs[0], append([]byte("x"), text...), 0o600); err != nil {
		t.Fatal(err)
	}
	if all, err := journal.ListUnfinished(r.undo()); err != nil || len(all) != 1 || all[0].Err == nil {
		t.Errorf("unfinished %v, %v", all, err)
	}
	if _, err := r.restored(t.Context(), r.catalog()); err == nil || !strings.Contains(err.Error(), "line 1") {
		t.Errorf("error %v", err)
	}
}

func TestRestoreCommandIsUsed(t *testing.T) {
	s := exampleStudy()
	s.Commands[0].Restore = "printf %s {level} > mine; echo {level} >> restored"
	r := leftAt(t, s, "before write trial")
	r.restore(t)
	r.atFormer(t)
	text, err := os.ReadFile(filepath.Join(r.machine.root, "restored"))
	if err != nil || string(text) != "c\n" {
		t.Errorf("the restore command left %q, %v", text, err)
	}
}

// What somebody changed between a crash and the resumed run is the level that
// the run finds, and goes back to.
func TestResumeGoesBackToWhatItFound(t *testing.T) {
	r := leftAt(t, exampleStudy(), "after write trial")
	r.put(t, map[string]string{"host.one": "by hand"})
	b := r.bench(t, exampleStudy(), 1)
	var notes []string
	b.Report = func(e Event) {
		if e.Phase == PhaseRestore && e.Note != "" {
			notes = append(notes, e.Note)
		}
	}
	if err := b.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(notes, func(n string) bool { return strings.Contains(n, `"by hand", which plimsoll did not set`) }) {
		t.Errorf("notes %q", notes)
	}
	if now := r.present(t); now["host.one"] != "by hand" || now["mine"] != formers["mine"] {
		t.Errorf("the machine is at %v", now)
	}
	if n := len(r.records(t)); n != 4 {
		t.Errorf("%d trials ended", n)
	}
}

// A command that is killed while it puts something back, by the kernel for lack of memory or by somebody, is run again: nothing is left to
// put back, and what a dead command did not say is not taken for an answer.
func TestRestoreOutlivesKilledCommands(t *testing.T) {
	for _, program := range []string{"sh", "ls", "rm", "rmdir", "stat"} {
		r := leftAt(t, exampleStudy(), "before write trial")
		bin := memory(t)
		real, err := exec.LookPath(program)
		if err != nil {
			t.Fatal(err)
		}
		script := "#!/bin/sh\n[ -e " + bin + "/once ] || { : >" + bin + "/once; kill -KILL $$; }\nexec " + real + ` "$@"` + "\n"
		if err := os.WriteFile(filepath.Join(bin, program), []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
		t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
		if _, err := r.restored(t.Context(), r.catalog()); err != nil {
			t.Errorf("%s: %v", program, err)
		}
		r.atFormer(t)
		if left, err := filepath.Glob(filepath.Join(r.root, "scratch")); err != nil || len(left) > 0 {
			t.Errorf("%s: %v is left, %v", program, left, err)
		}
		if dirs, err := r.unfinished(); err != nil || len(dirs) > 0 {
			t.Errorf("%s: unfinished %v, %v", program, dirs, err)
		}
	}
}
