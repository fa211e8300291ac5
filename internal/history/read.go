package history

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"plimsoll/internal/collect"
	"plimsoll/internal/finding"
	"plimsoll/internal/measure"
	"plimsoll/internal/trial/journal"
)

const (
	mostFile      = 64 << 20 // bytes of a file that is read for a list
	mostText      = 500      // runes of a text in a list
	mostHeadlines = 12       // comparisons of a run in a list
	digestLength  = 12       // hexadecimal digits
)

// file reads a small file of a results folder.
func file(dir, name string) ([]byte, error) {
	if info, err := os.Lstat(filepath.Join(dir, name)); err == nil && info.Size() > mostFile {
		return nil, fmt.Errorf("%s has %d bytes, more than %d", filepath.Join(dir, name), info.Size(), mostFile)
	}
	return measure.ReadFileIn(dir, name)
}

func decode(dir, name string, value any) error {
	text, err := file(dir, name)
	if err != nil {
		return fmt.Errorf("read results: %w", err)
	}
	if err := json.Unmarshal(text, value); err != nil {
		return fmt.Errorf("read %s: %w", filepath.Join(dir, name), err)
	}
	return nil
}

func exists(dir, name string) bool {
	_, err := os.Lstat(filepath.Join(dir, name))
	return err == nil
}

// read reads one results folder. Whether a run that has not ended goes on is asked later: see going.
func read(dir string) Run {
	r := Run{State: Damaged}
	if err := r.read(dir); err != nil {
		r.State, r.Answer = Damaged, short(err.Error())
	}
	return r
}

func (r *Run) read(dir string) error {
	var study struct {
		Study    string                `json:"study"`
		Question string                `json:"question"`
		Platform struct{ Kind string } `json:"platform"`
		Workload struct{ Kind string } `json:"workload"`
	}
	if err := decode(dir, "study.json", &study); err != nil {
		return err
	}
	r.Study, r.Question, r.Platform, r.Workload = short(study.Study), short(study.Question), short(study.Platform.Kind), short(study.Workload.Kind)
	r.Tags = tagsOf(dir)
	if err := r.findings(dir); err != nil {
		return err
	}
	if bed, err := Testbed(dir); err == nil {
		r.Testbed, r.Machine = identity(bed)
	}
	if exists(dir, "tuned.json") {
		r.State = Tuned
		r.times(dir, "study.yaml", "tuned.json")
		return nil
	}
	if exists(dir, "tune.json") { // it has not ended
		r.State = Interrupted
		r.times(dir, "study.yaml", "tune.json")
		return nil
	}
	return r.journal(dir)
}

// times takes the times of a tuning from those of its files.
func (r *Run) times(dir, first, last string) {
	if info, err := os.Lstat(filepath.Join(dir, first)); err == nil {
		r.Started = info.ModTime()
	}
	if info, err := os.Lstat(filepath.Join(dir, last)); err == nil && r.State == Tuned {
		r.Ended = info.ModTime()
	}
}

// journal takes state, times and trials from the journal.
func (r *Run) journal(dir string) error {
	if info, err := os.Lstat(filepath.Join(dir, journal.Name)); err == nil && info.Size() > mostFile {
		return fmt.Errorf("%s has %d bytes, more than %d", filepath.Join(dir, journal.Name), info.Size(), mostFile)
	}
	entries, err := journal.Read(dir)
	if err != nil {
		return err
	}
	ended := false
	for i := range entries {
		e := &entries[i]
		if e.Begin != nil {
			r.Started, r.Version, r.Digest = e.Time, short(e.Begin.Version), short(e.Begin.Study)
		}
		if e.Kind == journal.KindTrialEnded {
			r.Trials++
			if e.Void != "" {
				r.Void++
			}
		}
		ended, r.Ended = e.Kind == journal.KindEnd, e.Time
	}
	r.Digest = r.Digest[:min(len(r.Digest), digestLength)]
	switch {
	case !ended:
		r.State = Interrupted
	case r.Answer == "" && r.Verdict == "":
		r.State = Unjudged
	default:
		r.State = Finished
	}
	return nil
}

// going reports whether a plimsoll is at work on a run, or on one of the runs of a tuning.
func going(dir string) bool {
	if journal.Locked(dir) {
		return true
	}
	if !exists(dir, "tune.json") {
		return false
	}
	entries, err := os.ReadDir(dir)
	return err == nil && slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.IsDir() && journal.Locked(filepath.Join(dir, e.Name())) })
}

// found is what a list needs of findings.json.
type found struct {
	Sentence  string `json:"sentence"`
	Arms      []struct{ Label string }
	Headlines []struct {
		Metric           measure.Metric
		Arm              int
		Ratio, Low, High float64
		Verdict          string
	}
	DataFailures []struct{}
	Peaks        []struct{ Sustained, Estimate float64 }
	Tuning       *struct{ Rounds []struct{ Outcome string } }
}

// findings takes the answer of a run from its findings, if there are any.
func (r *Run) findings(dir string) error {
	var f found
	err := decode(dir, "findings.json", &f)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	r.Answer, r.Verdict = short(f.Sentence), f.verdict()
	for _, h := range f.Headlines[:min(len(f.Headlines), mostHeadlines)] {
		one := Headline{Metric: short(h.Metric.Name), Unit: short(h.Metric.Unit), Ratio: h.Ratio, Low: h.Low, High: h.High, Verdict: short(h.Verdict)}
		if h.Arm >= 0 && h.Arm < len(f.Arms) {
			one.Arm = short(f.Arms[h.Arm].Label)
		}
		r.Headlines = append(r.Headlines, one)
	}
	return nil
}

// verdict is the result in a few words.
func (f *found) verdict() string {
	first := 0 // comparisons of the first headline
	for _, h := range f.Headlines {
		if h.Metric.Name == f.Headlines[0].Metric.Name {
			first++
		}
	}
	switch {
	case len(f.DataFailures) > 0:
		return "data check failed"
	case f.Tuning != nil:
		for _, round := range f.Tuning.Rounds {
			if round.Outcome == string(finding.Kept) {
				return "change kept"
			}
		}
		return "nothing changed"
	case first == 1:
		return short(f.Headlines[0].Verdict)
	case first > 1:
		return fmt.Sprintf("%d arms compared", first+1)
	}
	for _, p := range f.Peaks {
		if p.Sustained > 0 || p.Estimate > 0 {
			return "peak found"
		}
	}
	if len(f.Peaks) > 0 {
		return "no peak found"
	}
	return "measured"
}

// Testbed reads the facts about the testbed of a run.
func Testbed(dir string) (collect.TestbedRecord, error) {
	var bed collect.TestbedRecord
	err := decode(dir, "testbed.json", &bed)
	return bed, err
}

// identity is the digest of the deciding facts, and the testbed in a few words.
func identity(bed collect.TestbedRecord) (digest, machine string) {
	sum := sha256.New()
	for _, f := range bed.Deciding() {
		fmt.Fprintf(sum, "%q=%q\n", f.Name, f.Value)
	}
	var words []string
	for _, name := range []string{"cpu.model", "cpu.threads", "kernel.release"} {
		value, known := bed.Get(name)
		if !known || strings.HasPrefix(value, collect.NotReadable) {
			continue
		}
		if name == "cpu.threads" {
			value += cmp.Or(map[bool]string{true: " CPU"}[value == "1"], " CPUs")
		}
		words = append(words, value)
	}
	return hex.EncodeToString(sum.Sum(nil))[:digestLength], short(strings.Join(words, " · "))
}

// short is a text of bounded length.
func short(text string) string {
	if len(text) <= mostText {
		return text
	}
	runes := []rune(text)
	if len(runes) <= mostText {
		return text
	}
	return string(runes[:mostText-1]) + "…"
}
