package report

import (
	"fmt"
	"strings"

	"plimsoll/internal/measure"
)

// ledger is the certificate on the page.
type ledger struct {
	Passed, Failed, Unknown int
	Checks                  []checkLine
	Voids                   []voidLine
	MoreVoids               string
	Records                 bool
}

type checkLine struct {
	Name, State, Detail string
}

type voidLine struct {
	Trial, Block int
	Arm, Cause   string
	Stderr       string
}

const (
	mostVoids  = 24
	mostStderr = 4000 // bytes
)

// ledger lists what failed first, then what is unknown, then what passed.
func (s *sources) ledger() ledger {
	l := ledger{Records: len(s.records) > 0}
	for _, state := range []measure.State{measure.Fail, measure.Unknown, measure.Pass} {
		for _, c := range s.Findings.Certificate {
			if c.State != state {
				continue
			}
			l.Checks = append(l.Checks, checkLine{c.Name, string(state), c.Detail})
			switch state {
			case measure.Fail:
				l.Failed++
			case measure.Unknown:
				l.Unknown++
			default:
				l.Passed++
			}
		}
	}
	for _, v := range s.Findings.Void {
		if len(l.Voids) == mostVoids {
			l.MoreVoids = fmt.Sprintf("%s more are in the results folder.", count(len(s.Findings.Void)-mostVoids))
			break
		}
		line := voidLine{Trial: v.Trial, Arm: s.brief(v.Arm), Cause: v.Cause}
		for i := range s.records {
			if r := &s.records[i]; r.Trial == v.Trial && r.Arm == v.Arm {
				line.Block, line.Stderr = r.Block, clip(r.Stderr)
			}
		}
		l.Voids = append(l.Voids, line)
	}
	return l
}

// clip keeps the end of what a program printed, where its reason stands.
func clip(s string) string {
	s = strings.ToValidUTF8(strings.TrimSpace(s), "�")
	if len(s) > mostStderr {
		s = "… " + strings.ToValidUTF8(s[len(s)-mostStderr:], "")
	}
	return s
}

// noiseFloor is what the certificate says about the noise of the testbed.
func (s *sources) noiseFloor() string {
	for _, c := range s.Findings.Certificate {
		if c.Name == "noise floor" {
			return c.Detail
		}
	}
	return ""
}

// claim is a sentence that the audit recomputed.
type claim struct {
	Sentence, Computed, Fault string
	Holds                     bool
}

// claims lists what does not hold first.
func (s *sources) claims() (all []claim, faults int) {
	for _, holds := range []bool{false, true} {
		for _, c := range s.Findings.Audit {
			if c.Holds == holds {
				all = append(all, claim{c.Sentence, c.Computed, c.Fault, c.Holds})
			}
		}
		if !holds {
			faults = len(all)
		}
	}
	return all, faults
}
