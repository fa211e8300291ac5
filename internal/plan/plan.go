// Package plan turns a study into trials. It is pure: the next trial follows
// from the study, the seed and the records so far, so that a dry run, a run, a
// resumed run and an adaptive design are the same code.
package plan

import (
	"fmt"
	"slices"
	"strings"

	"plimsoll/internal/stat"
	"plimsoll/internal/study"
)

// The phases of a study.
const (
	PhaseMain  = "main"
	PhasePilot = "pilot" // first stage of Stein's method
)

const (
	mostArms      = 64
	pilotBlocks   = 8    // first stage of Stein's method, statistics.md 1.3
	singleBlocks  = 6    // of a study with one arm that names no number
	mostPrecision = 1000 // blocks that a precision goal may ask for
)

// Arm is one level of every factor. Arm 0 is the baseline.
type Arm struct {
	Index  int               `json:"index"`
	Label  string            `json:"label"`  // "storage.threads=2"; "baseline" in a study without factors
	Levels map[string]string `json:"levels"` // by full name of the factor
}

// Trial is one arm in one block.
type Trial struct {
	Number int    `json:"number"` // from 1, in the order of execution
	Phase  string `json:"phase"`
	Block  int    `json:"block"` // from 1
	Slot   int    `json:"slot"`  // from 1
	Arm    int    `json:"arm"`
	Seed   uint64 `json:"seed"`           // of the load's random choices: common to a block
	Plot   int    `json:"plot,omitempty"` // whole plot, from 1; 0 without restart factors
}

// Plan is a study with everything that chance decides.
type Plan struct {
	Study *study.Study `json:"-"`
	Seed  uint64       `json:"seed"`
	Arms  []Arm        `json:"arms"`
	Looks []int        `json:"looks,omitempty"` // planned looks; nil with a fixed number of blocks
	Level float64      `json:"level"`           // confidence level of the interval at each look
	Most  int          `json:"most"`            // largest number of blocks
}

// New plans a study. Its errors are mistakes of the study.
func New(s *study.Study, seed uint64) (*Plan, error) {
	arms, err := armsOf(s)
	if err != nil {
		return nil, err
	}
	p := &Plan{Study: s, Seed: seed, Arms: arms, Level: stat.FamilyLevel}
	m := s.Measure
	switch {
	case m.Precision > 0:
		p.Most = mostPrecision
	case m.Blocks > 0:
		p.Most = m.Blocks
	case len(arms) == 1:
		p.Most = singleBlocks
	default:
		p.Looks = slices.Clone(m.Looks)
		p.Level = stat.LookLevel(m.Looks)
		p.Most = m.Looks[len(m.Looks)-1]
	}
	return p, nil
}

// armsOf is the full factorial of the levels, the last factor varying fastest.
func armsOf(s *study.Study) ([]Arm, error) {
	count := 1
	for _, f := range s.Factors {
		if count *= len(f.Levels); count > mostArms {
			return nil, fmt.Errorf("the factors make more than %d arms: name fewer levels, or split the question into several studies", mostArms)
		}
	}
	arms := make([]Arm, count)
	for i := range arms {
		arms[i] = Arm{Index: i, Label: "baseline", Levels: map[string]string{}}
		var labels []string
		rest, block := i, count
		for _, f := range s.Factors {
			block /= len(f.Levels)
			level := f.Levels[rest/block]
			rest %= block
			arms[i].Levels[f.FullName()] = level
			labels = append(labels, f.FullName()+"="+level)
		}
		if labels != nil {
			arms[i].Label = strings.Join(labels, ", ")
		}
	}
	return arms, nil
}
