package lab

import (
	"cmp"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"plimsoll/internal/measure"
	"plimsoll/internal/trial/journal"
)

// State is the state of a run.
type State string

// The states of a run.
const (
	StateFinished    State = "finished"
	StateInterrupted State = "interrupted" // plimsoll resume continues it
	StateRunning     State = "running"
	StateTuned       State = "tuned"    // a folder of plimsoll tune
	StateDamaged     State = "damaged"  // its files cannot be read
	StateUnjudged    State = "unjudged" // trials complete, findings.json missing: plimsoll report
)

// Past is one results folder.
type Past struct {
	Dir     string    `json:"folder"`
	Study   string    `json:"study"`
	Started time.Time `json:"started"`
	State   State     `json:"state"`
	Trials  int       `json:"trials"` // that ended
	Answer  string    `json:"answer"` // first sentence of the findings, or the reason for a damaged folder
}

// Runs lists the results folders in a folder, the latest last. Other folders are left out; a
// run that cannot be read is listed as damaged. A missing folder has no runs.
func (l *Lab) Runs(dir string) ([]Past, error) {
	names, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, &mistake{err}
	}
	var runs []Past
	for _, name := range names {
		r := &Run{Dir: filepath.Join(dir, name.Name())}
		if strings.HasPrefix(name.Name(), ".") || !r.exists("study.yaml") { // hidden: an import that was killed
			continue
		}
		runs = append(runs, past(r))
	}
	slices.SortStableFunc(runs, func(a, b Past) int { return cmp.Or(a.Started.Compare(b.Started), cmp.Compare(a.Dir, b.Dir)) })
	return runs, nil
}

// past reads one results folder.
func past(r *Run) Past {
	p := Past{Dir: r.Dir, State: StateDamaged}
	var name struct {
		Study string `json:"study"`
	}
	if err := r.read("study.json", &name); err != nil {
		p.Answer = err.Error()
		return p
	}
	p.Study = name.Study
	if text, err := measure.ReadFile(r.path("findings.json")); err == nil {
		var found struct {
			Sentence string `json:"sentence"`
		}
		if err := json.Unmarshal(text, &found); err != nil {
			p.Answer = err.Error()
			return p
		}
		p.Answer = found.Sentence
	}
	if r.exists("tuned.json") {
		p.State = StateTuned
		if info, err := os.Stat(r.path("study.yaml")); err == nil {
			p.Started = info.ModTime()
		}
		return p
	}
	if r.exists(tuneFile) { // it ended before its first measurement
		p.State = StateInterrupted
		return p
	}
	entries, err := journal.Read(r.Dir)
	if err != nil {
		p.Answer = err.Error()
		return p
	}
	ended := false
	for i, e := range entries {
		if i == 0 {
			p.Started = e.Time
		}
		if e.Kind == journal.KindTrialEnded {
			p.Trials++
		}
		ended = e.Kind == journal.KindEnd
	}
	switch {
	case journal.Locked(r.Dir):
		p.State = StateRunning
	case !ended:
		p.State = StateInterrupted
	case p.Answer == "":
		p.State = StateUnjudged
	default:
		p.State = StateFinished
	}
	return p
}
