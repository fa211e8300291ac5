// Package plan turns a study into trials. It is pure: the next trial follows from the study,
// the seed and the records so far, so that a dry run, a run, a resumed run and an adaptive
// design are the same code.
//
// The design is a randomised complete block design with balanced orders: every block has every
// arm once, in a seeded order such that each arm runs in each slot, and after each other arm,
// equally often; every second block is the reverse of the one before. If a factor needs a
// restart, a block is a set of whole plots, one per level of those factors, with the other
// arms inside (split plot). Whole plots are balanced as arms are, and so are the arms of each.
// A void trial is repeated in its slot while retries last. After a few void trials in one slot, the rest of
// the block is dropped, and a new block in the same order replaces it.
//
// Sources: blocks and split plots, Cox, Planning of Experiments (1958); orders, Williams
// (1949); looks, Jennison & Turnbull (1989); two stages, Stein (1945), all in package stat.
package plan

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"plimsoll/internal/stat"
	"plimsoll/internal/study"
)

// The phases of a study.
const (
	PhaseMain  = "main"
	PhasePilot = "pilot" // first stage of Stein's procedure
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
	Block  int    `json:"block"` // from 1; repeated blocks leave gaps among the complete ones
	Slot   int    `json:"slot"`  // from 1
	Arm    int    `json:"arm"`
	Seed   uint64 `json:"seed"`           // of the load's random choices, common to a block; below 2^53
	Plot   int    `json:"plot,omitempty"` // whole plot, from 1; 0 without restart factors
}

// Plan is a study with its seed and everything drawn from it.
type Plan struct {
	Study *study.Study `json:"-"`
	Seed  uint64       `json:"seed"`
	Arms  []Arm        `json:"arms"`
	Retry string       `json:"retry,omitempty"` // what is repeated after a void trial: InSlot, or in older results its block
	Order string       `json:"order,omitempty"` // order of arms in blocks: Balanced, or in older results each block by itself
	Looks []int        `json:"looks,omitempty"` // planned looks; nil unless the study looks
	Level float64      `json:"level"`           // confidence level of all intervals together, over looks and headlines
	Error float64      `json:"error"`           // two-sided error of one interval at one look; 0 divides 1-Level among the headlines
	Most  int          `json:"most"`            // largest number of complete blocks
	Pilot int          `json:"pilot,omitempty"` // blocks of the first stage; 0 without a precision goal
	plots [][]int      // arms of each whole plot, by level of the restart factors; nil without any
}

// Balanced is the order in which every arm runs in every slot, and after every
// other arm, equally often.
const Balanced = "balanced"

// InSlot repeats a void trial in its slot: the valid trials of its block stay of use, of which a block of many
// arms loses more than it costs to repeat one.
const InSlot = "slot"

const (
	mostInSlot    = 3  // void trials in a slot before the block is repeated
	mostFactors   = 3  // factors with more than one level in a full factorial
	mostArms      = 64 // per block
	pilotBlocks   = 8
	mostPrecision = 1000 // blocks that a precision goal may take
	// defaultBlocks is the number of blocks of a study with one arm that sets none.
	defaultBlocks = stat.LeastBlocks
)

// New returns the plan of a study. Its error is a mistake of the study: too many factors or
// arms.
func New(s *study.Study, seed uint64) (*Plan, error) {
	if len(s.Headline) == 0 {
		return nil, errors.New("plan study: it has no headline metric")
	}
	arms, err := armsOf(s)
	if err != nil {
		return nil, err
	}
	p := &Plan{Study: s, Seed: seed, Arms: arms, Level: stat.FamilyLevel, Order: Balanced, Retry: InSlot, plots: wholePlots(s.Factors, arms)}
	m := s.Measure
	switch {
	case m.Blocks > 0:
		p.Most = m.Blocks
	case m.Precision > 0:
		p.Pilot, p.Most = pilotBlocks, mostPrecision
	case len(arms) == 1:
		p.Most = defaultBlocks
	case len(m.Looks) == 0:
		return nil, errors.New("plan study: neither blocks nor looks are set")
	default:
		p.Looks, p.Most = m.Looks, m.Looks[len(m.Looks)-1]
	}
	p.Error = stat.LookError(p.Looks, (1-p.Level)/float64(p.comparisons()))
	return p, nil
}

func armsOf(s *study.Study) ([]Arm, error) {
	if s.Combinations != nil {
		return chosen(s)
	}
	return factorial(s.Factors)
}

// factorial returns every combination of levels, the last factor varying fastest.
func factorial(factors []study.Factor) ([]Arm, error) {
	var varied []string
	total := 1
	for _, f := range factors {
		if len(f.Levels) == 0 {
			return nil, fmt.Errorf("plan study: factor %s has no level", f.FullName())
		}
		if len(f.Levels) > 1 {
			varied = append(varied, f.FullName())
		}
		total = min(total*len(f.Levels), 1<<20)
	}
	if len(varied) > mostFactors {
		return nil, fmt.Errorf("plan study: %d factors at once (%s) are too many for a full factorial, which goes up to %d: vary the ones that matter most, give the others one level, and ask about them in a second study",
			len(varied), strings.Join(varied, ", "), mostFactors)
	}
	if total > mostArms {
		return nil, fmt.Errorf("plan study: %d arms in a block are too many, %d is the most: drop levels or factors; two levels each are enough to see whether a factor matters", total, mostArms)
	}
	arms := make([]Arm, total)
	for i := range arms {
		arms[i] = arm(i, factors, len(varied) == 0)
	}
	return arms, nil
}

// chosen are the arms of a study that names its combinations. A label has the levels that differ from those
// of the first.
func chosen(s *study.Study) ([]Arm, error) {
	if n := len(s.Combinations); n > mostArms {
		return nil, fmt.Errorf("plan study: %d arms in a block are too many, %d is the most", n, mostArms)
	}
	arms := make([]Arm, len(s.Combinations))
	for i, levels := range s.Combinations {
		a := Arm{Index: i, Label: "baseline", Levels: levels}
		var parts []string
		for _, f := range s.Factors {
			level, ok := levels[f.FullName()]
			if !ok || !slices.Contains(f.Levels, level) {
				return nil, fmt.Errorf("plan study: arm %d has no level of %s", i, f.FullName())
			}
			if level != s.Combinations[0][f.FullName()] {
				parts = append(parts, f.FullName()+"="+level)
			}
		}
		if len(parts) > 0 {
			a.Label = strings.Join(parts, ", ")
		}
		arms[i] = a
	}
	return arms, nil
}

// arm returns the combination with the given index. Its label names the varied factors;
// without any, all factors.
func arm(index int, factors []study.Factor, alone bool) Arm {
	a := Arm{Index: index, Label: "baseline", Levels: map[string]string{}}
	parts := make([]string, 0, len(factors))
	rest := index
	for i := len(factors) - 1; i >= 0; i-- {
		f := factors[i]
		level := f.Levels[rest%len(f.Levels)]
		rest /= len(f.Levels)
		a.Levels[f.FullName()] = level
		if len(f.Levels) > 1 || alone {
			parts = append(parts, f.FullName()+"="+level)
		}
	}
	if len(parts) > 0 {
		slices.Reverse(parts)
		a.Label = strings.Join(parts, ", ")
	}
	return a
}
