package content

import (
	"fmt"
	"strings"

	"plimsoll/internal/measure"
	"plimsoll/internal/quantity"
	"plimsoll/internal/report"
)

// Certificate is the certificate on the page.
type Certificate struct {
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

// CertificateOf lists failed checks first, then unknown ones, then passed ones.
func CertificateOf(s *report.Sources) Certificate {
	l := Certificate{Records: len(s.InOrder) > 0}
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
			l.MoreVoids = fmt.Sprintf("%s more are in the results folder.", quantity.Count(len(s.Findings.Void)-mostVoids))
			break
		}
		line := voidLine{Trial: v.Trial, Arm: s.Brief(v.Arm), Cause: v.Cause}
		for i := range s.InOrder {
			if r := &s.InOrder[i]; r.Trial == v.Trial && r.Arm == v.Arm {
				line.Block, line.Stderr = r.Block, clip(r.Stderr)
			}
		}
		l.Voids = append(l.Voids, line)
	}
	return l
}

// names lists the checks in one state, separated by commas.
func (l Certificate) names(state measure.State) string {
	var names []string
	for _, c := range l.Checks {
		if c.State == string(state) {
			names = append(names, c.Name)
		}
	}
	return strings.Join(names, ", ")
}

// Failing names the checks that failed.
func (l Certificate) Failing() string { return l.names(measure.Fail) }

// Unjudged names the checks that could not be judged.
func (l Certificate) Unjudged() string { return l.names(measure.Unknown) }

// clip keeps the end of a program's output, where the error is.
func clip(s string) string {
	s = strings.ToValidUTF8(strings.TrimSpace(s), "�")
	if len(s) > mostStderr {
		s = "… " + strings.ToValidUTF8(s[len(s)-mostStderr:], "")
	}
	return s
}

// NoiseFloor is the check of the testbed's noise in the certificate.
func NoiseFloor(s *report.Sources) string {
	for _, c := range s.Findings.Certificate {
		if c.Name == "noise floor" {
			return c.Detail
		}
	}
	return ""
}

// Claim is a sentence with the outcome of its audit.
type Claim struct {
	Sentence, Computed, Fault string
	Outcome                   string // "holds", "does not hold", "not understood"
	State                     measure.State
}

// Claims lists claims that do not hold first, then those not understood.
func Claims(s *report.Sources) (all []Claim, counts ClaimCounts) {
	for _, state := range []measure.State{measure.Fail, measure.Unknown, measure.Pass} {
		for _, c := range s.Findings.Audit {
			one := Claim{c.Sentence, c.Computed, c.Fault, "does not hold", measure.Fail}
			switch {
			case c.Holds:
				one.Outcome, one.State = "holds", measure.Pass
			case c.NotUnderstood:
				one.Outcome, one.State = "not understood", measure.Unknown
			}
			if one.State == state {
				all = append(all, one)
				counts.add(state)
			}
		}
	}
	return all, counts
}

// ClaimCounts is the number of claims of each outcome.
type ClaimCounts struct{ Hold, Fail, Unclear int }

func (n *ClaimCounts) add(state measure.State) {
	switch state {
	case measure.Pass:
		n.Hold++
	case measure.Fail:
		n.Fail++
	default:
		n.Unclear++
	}
}
