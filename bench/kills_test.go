package main

import (
	"os"
	"os/exec"
	"testing"
)

// A short campaign over the kinds that take little time.
func TestKills(t *testing.T) {
	if os.Getenv("PLIMSOLL_DEEP") == "" {
		t.Skip("set PLIMSOLL_DEEP=1 to kill studies of this host")
	}
	c := exec.CommandContext(t.Context(), "go", "run", "./bench", "kills", "--kills", "10", "--kinds", "sysctl,groups,storage,redis,fleet")
	c.Dir = ".."
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
