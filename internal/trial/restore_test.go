package trial

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"plimsoll/internal/factor"
	"plimsoll/internal/study"
)

// left makes a rig whose run crashed at the first step that has a name.
func leftAt(t *testing.T, s *study.Study, name string) *rig {
	t.Helper()
	t.Setenv("XDG_STATE_HOME", memory(t))
	r := newRig(t)
	for k := 1; k < 500; k++ {
		os.RemoveAll(r.dir())
		os.RemoveAll(filepath.Join(r.root, "scratch"))
		r.put(t, formers)
		if crash(k, func(step func(string)) {
			b := r.bench(t, s, 1)
			b.step = step
			b.Run(t.Context())
		}) == name {
			return r
		}
	}
	t.Fatalf("no step %q", name)
	return nil
}

func (r *rig) restore(t *testing.T) string {
	t.Helper()
	said, err := Restore(t.Context(), r.dir(), r.machine, r.catalog())
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
		`removed what workload driven had prepared in ` + filepath.Join(r.root, "scratch"),
	}, "\n")
	if said != want {
		t.Errorf("said\n%s\nwant\n%s", said, want)
	}
	if again := r.restore(t); again != "" {
		t.Errorf("the second time it said %q", again)
	}
}

func TestSomebodyElsesChangeIsLeft(t *testing.T) {
	r := leftAt(t, exampleStudy(), "before write trial")
	r.put(t, map[string]string{"host.one": "by hand"})
	said := r.restore(t)
	if want := `host.one is at "by hand", which plimsoll did not set: left as it is (its former level was "a former")`; !strings.Contains(said, want) {
		t.Errorf("said\n%s\nwant %s", said, want)
	}
	now := r.present(t)
	if now["host.one"] != "by hand" || now["host.two_x"] != formers["host.two_x"] {
		t.Errorf("the machine is at %v", now)
	}
	if again := r.restore(t); again != "" {
		t.Errorf("the second time it said %q", again)
	}
	if dirs, err := Unfinished(); err != nil || len(dirs) > 0 {
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
	for k := 1; !crashed && k < 200; k++ {
		os.RemoveAll(r.dir())
		os.RemoveAll(filepath.Join(r.root, "scratch"))
		r.put(t, formers)
		name := crash(k, func(step func(string)) {
			b := r.bench(t, exampleStudy(), 1)
			b.step = step
			b.Run(t.Context())
		})
		crashed = name == "before write trial" && r.present(t)["host.one"] == "rounded"
	}
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
	said, err := Restore(t.Context(), r.dir(), r.machine, broken)
	if err == nil || !strings.Contains(err.Error(), `put host.two:x back to "b\nformer": no such level`) {
		t.Fatalf("error %v", err)
	}
	if len(said) != 3 || r.present(t)["host.one"] != formers["host.one"] {
		t.Errorf("said %q, machine at %v", said, r.present(t))
	}
	if dirs, err := Unfinished(); err != nil || !slices.Equal(dirs, []string{r.dir()}) {
		t.Errorf("unfinished %v, %v", dirs, err)
	}
	broken.Factors[1] = knob("host.two", map[string]string{formers["host.two_x"]: "lie"})
	if _, err := Restore(t.Context(), r.dir(), r.machine, broken); err == nil || !strings.Contains(err.Error(), `it reads "lie" afterwards`) {
		t.Fatalf("error %v", err)
	}
	r.restore(t)
	r.atFormer(t)
}

func TestRestoreNeedsItsFactors(t *testing.T) {
	r := leftAt(t, exampleStudy(), "before write trial")
	without := r.catalog()
	without.Factors = slices.DeleteFunc(without.Factors, func(f factor.Factor) bool { return f.Name == "host.one" })
	_, err := Restore(t.Context(), r.dir(), r.machine, without)
	if err == nil || !strings.Contains(err.Error(), `put host.one back to "a former": factor host.one: this plimsoll does not have it`) {
		t.Errorf("error %v", err)
	}
}

func TestUnreadableJournalIsUnfinished(t *testing.T) {
	r := leftAt(t, exampleStudy(), "before write trial")
	name := filepath.Join(r.dir(), journalName)
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, append([]byte("x"), text...), 0o644); err != nil {
		t.Fatal(err)
	}
	if dirs, err := Unfinished(); err != nil || len(dirs) != 1 {
		t.Errorf("unfinished %v, %v", dirs, err)
	}
	if _, err := Restore(t.Context(), r.dir(), r.machine, r.catalog()); err == nil || !strings.Contains(err.Error(), "line 1") {
		t.Errorf("error %v", err)
	}
}

func TestUnfinishedForgetsAFolderThatIsGone(t *testing.T) {
	r := leftAt(t, exampleStudy(), "before write trial")
	if err := os.RemoveAll(r.dir()); err != nil {
		t.Fatal(err)
	}
	if dirs, err := Unfinished(); err != nil || len(dirs) > 0 {
		t.Errorf("unfinished %v, %v", dirs, err)
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

// A journal that cannot be written, as on a full disk, is no reason to leave
// the machine as it is.
func TestRestoreWithoutAWritableJournal(t *testing.T) {
	r := leftAt(t, exampleStudy(), "before write trial")
	j, err := openJournal(r.dir())
	if err != nil {
		t.Fatal(err)
	}
	b := begun(j.entries)
	if err := j.close(); err != nil {
		t.Fatal(err)
	}
	restorer := &restorer{
		workbench: &workbench{machine: r.machine, catalog: r.catalog(), commands: b.Commands, scratch: b.Scratch},
		journal:   j, seed: b.Seed, kind: b.Workload,
	}
	restorer.all(t.Context())
	r.atFormer(t)
	if len(restorer.errs) == 0 || !strings.Contains(errors.Join(restorer.errs...).Error(), "file already closed") {
		t.Errorf("errors %v", restorer.errs)
	}
	if dirs, err := Unfinished(); err != nil || len(dirs) != 1 {
		t.Errorf("unfinished %v, %v: the journal does not know yet", dirs, err)
	}
	r.restore(t)
	r.atFormer(t)
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
