// Package trendtest writes results folders of runs that never took place, for tests of what reads many of them.
package trendtest

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"time"

	"plimsoll/internal/collect"
	"plimsoll/internal/measure"
	"plimsoll/internal/plan"
	"plimsoll/internal/study"
	"plimsoll/internal/study/file"
	"plimsoll/internal/trial/journal"
)

// Run is a run that is made up.
type Run struct {
	Dir     string
	Study   string // the text of its file
	Name    string // of the run in its journal; empty for none
	Started time.Time
	Version string // of plimsoll
	Testbed collect.TestbedRecord
	// Value is that of a metric in the trial of an arm in a block, from 1.
	Value  func(metric string, arm, block int) float64
	Blocks int
	Void   map[int]bool // blocks whose trials are void
	Open   bool         // it was interrupted
}

// Write writes the results folder of a run.
func Write(c *study.Catalog, r Run) error {
	s, err := file.Parse("study.yaml", []byte(r.Study), c, nil)
	if err != nil {
		return err
	}
	p, err := plan.New(s, 1)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(r.Dir, 0o755); err != nil {
		return err
	}
	err = errors.Join(os.WriteFile(filepath.Join(r.Dir, "study.yaml"), []byte(r.Study), 0o644), r.write("study.json", s), r.write("plan.json", p))
	if r.Testbed != nil {
		err = errors.Join(err, r.write("testbed.json", r.Testbed))
	}
	if err != nil {
		return err
	}
	entries, err := r.trials(s, p)
	if err != nil {
		return err
	}
	last := journal.KindEnd
	if r.Open {
		last = journal.KindInterrupted
	}
	return r.log(append(entries, journal.Entry{Kind: last}))
}

// trials writes the trials, and returns the entries of the journal.
func (r *Run) trials(s *study.Study, p *plan.Plan) ([]journal.Entry, error) {
	results := measure.OpenResults(r.Dir)
	entries := []journal.Entry{{Kind: journal.KindBegin, Begin: &journal.Begin{Run: r.Name, Version: r.Version, Platform: s.Platform, Workload: s.Workload.Kind}}}
	n := 0
	for block := 1; block <= r.Blocks; block++ {
		for _, arm := range p.Arms {
			n++
			record := &measure.Record{
				Trial: n, Phase: plan.PhaseMain, Block: block, Slot: arm.Index + 1, Arm: arm.Index, Levels: arm.Levels, Start: r.Started, End: r.Started.Add(time.Second),
				Values: map[string]float64{}, Checks: []measure.Check{{Name: "read back", State: measure.Pass, Detail: "made up"}},
			}
			for _, metric := range s.Headline {
				record.Values[metric] = r.Value(metric, arm.Index, block)
			}
			if r.Void[block] {
				record.Void = "made up"
			}
			sum, err := results.WriteTrial(record, nil)
			if err != nil {
				return nil, err
			}
			entries = append(entries, journal.Entry{Kind: journal.KindTrialEnded, Trial: n, Record: sum})
		}
	}
	return entries, nil
}

func (r *Run) write(name string, value any) error {
	text, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(r.Dir, name), append(text, '\n'), 0o644)
}

// log writes the journal.
func (r *Run) log(entries []journal.Entry) error {
	var lines []byte
	for i, e := range entries {
		e.Sequence, e.Time = i+1, r.Started.Add(time.Duration(i)*time.Second).UTC()
		text, err := json.Marshal(e)
		if err != nil {
			return err
		}
		body := text[:len(text)-1]
		lines = fmt.Appendf(lines, "%s,\"crc\":\"%08x\"}\n", body, crc32.Checksum(body, crc32.MakeTable(crc32.Castagnoli)))
	}
	return os.WriteFile(filepath.Join(r.Dir, journal.Name), lines, 0o644)
}
