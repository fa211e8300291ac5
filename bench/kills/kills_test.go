package kills

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// A short campaign over the kinds that take little time.
func TestKills(t *testing.T) {
	if os.Getenv("PLIMSOLL_DEEP") == "" {
		t.Skip("set PLIMSOLL_DEEP=1 to kill studies of this host")
	}
	c := exec.CommandContext(t.Context(), "go", "run", "./bench", "kills", "--kills", "10", "--kinds", "sysctl,groups,storage,redis,fleet")
	c.Dir = "../.."
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

// A campaign that finds something fails, and says what.
func TestDifferencesAreCounted(t *testing.T) {
	s := &scene{campaign: &campaign{dir: t.TempDir()}, kind: kindOf("sysctl"), tally: &tally{}, expected: map[int]string{1: "a", 2: "b"}}
	s.dir = s.campaign.dir
	if err := os.MkdirAll(s.path("out/trials/0001"), 0o755); err != nil {
		t.Fatal(err)
	}
	journal := `{"kind":"trial ended","trial":1}` + "\n" + `{"kind":"trial ended","trial":1}` + "\n" + `{"kind":"trial ended","trial":3}` + "\n"
	for name, text := range map[string]string{"out/journal.jsonl": journal, "out/trials/0001/record.json": "A"} {
		if err := os.WriteFile(s.path(name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.look("here"); err != nil {
		t.Fatal(err)
	}
	if want := (tally{lost: 2, changed: 1, repeated: 1}); *s.tally != want || !s.tally.failed() {
		t.Errorf("%+v, want %+v", *s.tally, want)
	}
}

// A setting is in effect from its read-back to its restoration, where the level is not the host's own.
func TestInEffect(t *testing.T) {
	const setting = `"setting":{"factor":"f","machine":"m",`
	change, changed := `{"kind":"change",`+setting+`"former":"a"}}`, `{"kind":"changed",`+setting+`"former":"a","seen":"b"}}`
	again, back := `{"kind":"change",`+setting+`"former":"b"}}`, `{"kind":"changed",`+setting+`"former":"b","seen":"a"}}`
	for _, test := range []struct {
		lines []string
		want  bool
	}{
		{nil, false},
		{[]string{change}, false},
		{[]string{change, changed}, true},
		{[]string{change, changed, again}, true},
		{[]string{change, changed, again, back}, false},
		{[]string{change, changed, `{"kind":"restored",` + setting + `"former":"b"}}`}, false},
		{[]string{change, `{"kind":"changed",`}, false}, // half a line
	} {
		name := t.TempDir() + "/journal.jsonl"
		if err := os.WriteFile(name, []byte(strings.Join(test.lines, "\n")+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		journal, err := readJournal(name)
		if err != nil {
			t.Fatal(err)
		}
		if got := inEffect(journal); got != test.want {
			t.Errorf("%s: %v, want %v", test.lines, got, test.want)
		}
	}
}
