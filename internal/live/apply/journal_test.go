package apply

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"plimsoll/internal/cluster/clustertest"
	"plimsoll/internal/live/livetest"
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
		"an intent twice":   {lines[0] + lines[1] + lines[1], "line 3: an entry of kind"},
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
		back, _ := j.backwards(clustertest.Sound(), nil)
		if len(back) > len(j.Begun) {
			t.Errorf("%d changes take %d back", len(back), len(j.Begun))
		}
	})
}

// A migration may end after the program that began it was killed.
func TestSettleWaitsForAMigration(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newApplied(t, clustertest.Lopsided())
		ctx, kill := context.WithCancel(t.Context())
		arrive := make(chan struct{})
		a.lab.OnMove(livetest.Hooks{Before: func(context.Context, string, string) error { <-arrive; return nil }})
		copied := filepath.Join(folder(t), "killed")
		a.applier.Progress = func(p Progress) {
			if p.Ended == nil {
				text, err := os.ReadFile(a.applier.Journal)
				if err == nil {
					err = os.WriteFile(copied, text, 0o600)
				}
				if err != nil {
					t.Error(err)
				}
			}
		}
		var over sync.WaitGroup
		over.Go(func() { a.apply(ctx, spread()[:1]) })
		synctest.Wait()
		j, err := ReadJournal(copied)
		if err != nil {
			t.Fatal(err)
		}
		if list, _ := j.Pending(); len(list) != 1 || list[0].VM != "a-1" {
			t.Fatalf("pending %+v", list)
		}
		over.Go(func() {
			<-time.After(30 * time.Second)
			close(arrive)
		})
		found, err := a.applier.Settle(t.Context(), j)
		if err != nil || !strings.Contains(found, "was made: a-1 is on esx-2") {
			t.Errorf("settled as %q, %v", found, err)
		}
		kill()
		over.Wait()
	})
}

func TestSettleGivesUpAfterAWhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newApplied(t, clustertest.Lopsided())
		l, err := create(a.applier.Journal, begin{Cluster: "sound", Changes: spread()})
		if err != nil {
			t.Fatal(err)
		}
		if err := l.intent(spread()[0]); err != nil {
			t.Fatal(err)
		}
		l.close()
		j, err := ReadJournal(a.applier.Journal)
		if err != nil {
			t.Fatal(err)
		}
		begun := time.Now()
		found, err := a.applier.Settle(t.Context(), j)
		if err != nil || !strings.Contains(found, "was not made: a-1 is on esx-1") || time.Since(begun) != defaultPatience {
			t.Errorf("settled as %q, %v after %s", found, err, time.Since(begun))
		}
		if again, err := ReadJournal(a.applier.Journal); err != nil || !again.Ended || again.Begun[0].What != NotMade {
			t.Errorf("the journal is %+v, %v", again, err)
		}
	})
}

func TestFilesThatAreNoJournals(t *testing.T) {
	for text, says := range map[string]string{
		"":                             "it is empty",
		`{"kind":"begin","version":1,`: "its first line is truncated",
		"root:x:0:0:root:/root\n":      "line 1: not a journal of plimsoll cluster",
		"{}\n":                         "line 1: not a journal of plimsoll cluster",
	} {
		name := filepath.Join(t.TempDir(), "journal")
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadJournal(name); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v, want %q", text, err, says)
		}
	}
}
