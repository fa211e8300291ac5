package apply

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"plimsoll/internal/cluster/clustertest"
)

func journalText(t testing.TB) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "j")
	l, err := create(name, begin{Cluster: "sound", Address: "memory://lab/", Changes: spread()})
	if err != nil {
		t.Fatal(err)
	}
	defer l.close()
	for _, err := range []error{l.intent(spread()[0]), l.outcome(Outcome{Change: spread()[0], What: Made, Found: "esx-2", Seconds: 2}), l.intent(spread()[1])} {
		if err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestJournalOfAKilledProgram(t *testing.T) {
	whole := journalText(t)
	for _, tail := range []string{"", `{"kind":"outcome","outc`} {
		j, err := parse("j", []byte(whole+tail))
		if err != nil {
			t.Fatal(err)
		}
		if len(j.Begun) != 2 || j.Begun[0].What != Made || j.Begun[1].What != Unknown || j.Of != 3 || j.Ended {
			t.Errorf("read %+v", j)
		}
	}
}

func TestDamagedJournals(t *testing.T) {
	lines := strings.SplitAfter(journalText(t), "\n")
	for name, c := range map[string]struct{ text, want string }{
		"empty":             {"", "empty"},
		"another file":      {"hello\n", "line 1"},
		"another version":   {strings.Replace(lines[0], `"version":1`, `"version":9`, 1), "version 1 is known"},
		"wrong numbers":     {strings.Replace(lines[0], `"change":2`, `"change":7`, 1), "not numbered"},
		"no intent":         {lines[0] + lines[2], "line 2: an entry of kind"},
		"intents left out":  {lines[0] + lines[3], "line 2: an entry of kind"},
		"a line in between": {lines[0] + "x\n" + lines[1], "line 2"},
	} {
		if _, err := parse("j", []byte(c.text)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want an error with %q", name, err, c.want)
		}
	}
}

func TestUndoOfAnotherCluster(t *testing.T) {
	a := newApplied(t, clustertest.Lopsided())
	a.apply(t.Context(), spread()[:1])
	j, err := ReadJournal(a.applier.Journal)
	if err != nil {
		t.Fatal(err)
	}
	j.Cluster = "other"
	if _, err := a.applier.Undo(t.Context(), j); err == nil || !strings.Contains(err.Error(), `of the cluster "other"`) {
		t.Errorf("the journal of another cluster is undone: %v", err)
	}
}

func FuzzJournal(f *testing.F) {
	f.Add([]byte(journalText(f)))
	f.Fuzz(func(t *testing.T, text []byte) {
		j, err := parse("j", text)
		if err != nil {
			return
		}
		if len(j.Begun) > j.Of {
			t.Errorf("%d of %d changes begun", len(j.Begun), j.Of)
		}
		back, _ := j.backwards(clustertest.Sound())
		if len(back) > len(j.Begun) {
			t.Errorf("%d changes take %d back", len(back), len(j.Begun))
		}
	})
}
