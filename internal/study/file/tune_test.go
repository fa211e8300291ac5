package file

import (
	"strings"
	"testing"
	"time"
)

// Candidates of tune are read as strictly as factors.
func TestTune(t *testing.T) {
	const aimed = "study: s\nquestion: q?\nplatform: local\nworkload: {storage: {engine: libaio}}\ngoal: {most: iops}\ntune: "
	s := parse(t, aimed+"{candidates: {storage.depth: [1, 4, 16], 'host.scheduler:sda': [none]}, allow: unsafe, changes: 3, time: 10m}\n")
	if c := s.Tune.Candidates; len(c) != 2 || c[0].Parameter != "depth" || len(c[0].Levels) != 3 || c[1].FullName() != "host.scheduler:sda" ||
		!s.Tune.Unsafe || s.Tune.Changes != 3 || s.Tune.Time != 10*time.Minute {
		t.Errorf("%+v", s.Tune)
	}
	s = parse(t, aimed+"{changes: 3}\n", "tune.candidates.storage.depth=[1, 8]", "tune.changes=4")
	if s.Tune.Changes != 4 || len(s.Tune.Candidates) != 1 || s.Tune.Candidates[0].Levels[1] != "8" {
		t.Errorf("overrides: %+v", s.Tune)
	}
	if s = parse(t, aimed+"{candidates: {}}\n"); !s.Tune.RulesOnly || s.Tune.Candidates != nil {
		t.Errorf("rules only: %+v", s.Tune)
	}
	s = parse(t, strings.Replace(aimed, "{most: iops}", "{most: iops, floor: {p99: 20ms, throughput: 1MB/s}}", 1)+"{changes: 3}\n")
	if f := s.Goal.Floor; f[0].Max == nil || *f[0].Max != .02 || f[0].Min != nil || f[1].Min == nil {
		t.Errorf("floors: %+v", f)
	}
	for tune, want := range map[string]string{
		"{candidates: {storage.dept: [1]}}":       `did you mean "storage.depth"?`,
		"{candidates: {storage.depth: [0]}}":      "at least 1",
		"{candidates: {storage.depth: [1, 1]}}":   "given twice",
		"{candidates: {storage.depth: []}}":       "has no level",
		"{candidates: {label: [a, b]}}":           "label cannot be tuned",
		"{candidates: {machines: [1, 2]}}":        "machines cannot be tuned",
		"{candidates: {nginx.workers: [1, 2]}}":   "add service: nginx",
		"{candidates: {host.quota: [much]}}":      "a quota is a number",
		"{candidates: {storage.engine: [psync]}}": "",
		"{allow: everything}":                     `"everything" is not one of safe, unsafe`,
		"{changes: 0}":                            "at least 1",
		"{time: 10}":                              "time with its unit",
		"{rounds: 3}":                             `unknown key "rounds"`,
		"[1]":                                     "must be a mapping",
	} {
		_, err := Parse("test.yaml", []byte(aimed+tune+"\n"), testCatalog(), nil)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", tune, err, want)
		}
	}
	if _, err := Parse("test.yaml", []byte(head+"tune: {changes: 1}\n"), testCatalog(), nil); err == nil || !strings.Contains(err.Error(), "tune needs a goal") {
		t.Errorf("without a goal: %v", err)
	}
	// On the baseline a level is built: psync has no depth but 1.
	_, err := Parse("test.yaml", []byte(head+"goal: {most: iops}\ntune: {candidates: {storage.depth: [2]}}\n"), testCatalog(), nil)
	if err == nil || !strings.Contains(err.Error(), `test.yaml:6`) || !strings.Contains(err.Error(), `level "2": engine psync has depth 1`) {
		t.Errorf("a level that the load refuses: %v", err)
	}
}

// A candidate of the catalog is left out, with the reason, where a study cannot have it.
func TestCandidateOfTheCatalog(t *testing.T) {
	s := parse(t, head)
	f, err := Candidate(s, testCatalog(), "storage.threads", []string{"2", "4"})
	if err != nil || f.Parameter != "threads" || len(f.Levels) != 2 {
		t.Errorf("%+v, %v", f, err)
	}
	for name, levels := range map[string][]string{"nginx.workers": {"2"}, "storage.threads": {"none"}} {
		if f, err := Candidate(s, testCatalog(), name, levels); err == nil {
			t.Errorf("%s: %+v", name, f)
		}
	}
}
