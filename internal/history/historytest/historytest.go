// Package historytest writes results folders of runs that never took place, for tests and benchmarks of what lists many of them.
package historytest

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"time"

	"plimsoll/internal/collect"
	"plimsoll/internal/history"
	"plimsoll/internal/trial/journal"
)

// Run is a run that is made up.
type Run struct {
	Dir      string
	Study    string
	Question string
	Started  time.Time
	Trials   int
	Void     int // of them
	Verdict  string
	Answer   string
	Ratio    float64
	Open     bool // it was interrupted
	Testbed  collect.TestbedRecord
	Tags     []string
	Left     bool // a change to a host was not undone
}

// Write writes the results folder of a run.
func Write(r Run) error {
	if err := os.MkdirAll(r.Dir, 0o755); err != nil {
		return err
	}
	err := errors.Join(r.text("study.yaml", []byte("study: "+r.Study+"\n")), r.write("study.json", map[string]any{
		"study": r.Study, "question": r.Question, "platform": map[string]string{"kind": "local"}, "workload": map[string]string{"kind": "storage"},
	}))
	if r.Testbed != nil {
		err = errors.Join(err, r.write("testbed.json", r.Testbed))
	}
	if r.Verdict != "" {
		err = errors.Join(err, r.write("findings.json", map[string]any{
			"study": r.Study, "sentence": r.Answer, "arms": []map[string]string{{"label": "knob=off"}, {"label": "knob=on"}},
			"headlines": []map[string]any{{
				"metric": map[string]string{"name": "iops", "unit": "1/s", "better": "higher"}, "arm": 1, "ratio": r.Ratio, "low": r.Ratio * .99, "high": r.Ratio * 1.01, "verdict": r.Verdict,
			}},
		}))
	}
	if len(r.Tags) > 0 {
		err = errors.Join(err, r.write(history.TagFile, map[string]any{"tags": r.Tags}))
	}
	return errors.Join(err, r.log())
}

func (r *Run) write(name string, value any) error {
	text, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return err
	}
	return r.text(name, append(text, '\n'))
}

func (r *Run) text(name string, text []byte) error {
	return os.WriteFile(filepath.Join(r.Dir, name), text, 0o644)
}

// log writes the journal.
func (r *Run) log() error {
	entries := []journal.Entry{{Kind: journal.KindBegin, Begin: &journal.Begin{Version: "made up", Study: "0123456789abcdef", Workload: "storage"}}}
	if r.Left {
		entries = append(entries, journal.Entry{Kind: journal.KindChange, Setting: &journal.Setting{Factor: "host.governor", Former: "powersave", Level: "performance"}})
	}
	for n := 1; n <= r.Trials; n++ {
		e := journal.Entry{Kind: journal.KindTrialEnded, Trial: n, Record: "none"}
		if n <= r.Void {
			e.Void = "made up"
		}
		entries = append(entries, e)
	}
	last := journal.KindEnd
	if r.Open {
		last = journal.KindInterrupted
	}
	var lines []byte
	for i, e := range append(entries, journal.Entry{Kind: last}) {
		e.Sequence, e.Time = i+1, r.Started.Add(time.Duration(i)*time.Second).UTC()
		text, err := json.Marshal(e)
		if err != nil {
			return err
		}
		body := text[:len(text)-1]
		lines = fmt.Appendf(lines, "%s,\"crc\":\"%08x\"}\n", body, crc32.Checksum(body, crc32.MakeTable(crc32.Castagnoli)))
	}
	return r.text(journal.Name, lines)
}
