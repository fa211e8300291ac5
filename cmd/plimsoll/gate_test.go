package main

import (
	"testing"

	"plimsoll/internal/finding"
	"plimsoll/internal/measure"
)

func TestGate(t *testing.T) {
	limit := func(s measure.State) []finding.LimitResult {
		return []finding.LimitResult{{Limit: "p99 <= 20ms", State: s}}
	}
	head := func(v finding.Verdict) []finding.Comparison { return []finding.Comparison{{Verdict: v}} }
	for _, c := range []struct {
		name            string
		findings        finding.Findings
		strict, lenient int
	}{
		{"nothing declared", finding.Findings{}, exitDone, exitDone},
		{"limit kept", finding.Findings{Limits: limit(measure.Pass)}, exitDone, exitDone},
		{"limit missed", finding.Findings{Limits: limit(measure.Fail)}, exitVerdict, exitVerdict},
		{"limit without a value", finding.Findings{Limits: limit(measure.Unknown)}, exitOpen, exitDone},
		{"better", finding.Findings{Headlines: head(finding.Better)}, exitDone, exitDone},
		{"equivalent", finding.Findings{Headlines: head(finding.Equivalent)}, exitDone, exitDone},
		{"worse", finding.Findings{Headlines: head(finding.Worse)}, exitVerdict, exitVerdict},
		{"not enough runs", finding.Findings{Headlines: head(finding.NotEnoughRuns)}, exitOpen, exitDone},
		{"size open", finding.Findings{Headlines: head(finding.Different)}, exitOpen, exitDone},
		{"missed before undecided", finding.Findings{Limits: limit(measure.Fail), Headlines: head(finding.NotEnoughRuns)}, exitVerdict, exitVerdict},
		{"worse before a limit without a value", finding.Findings{Limits: limit(measure.Unknown), Headlines: head(finding.Worse)}, exitVerdict, exitVerdict},
	} {
		t.Run(c.name, func(t *testing.T) {
			for g, want := range map[gate]int{"": exitDone, gateStrict: c.strict, gateLenient: c.lenient} {
				if got := exitStatus(g.judge(&c.findings)); got != want {
					t.Errorf("gate %q: status %d, want %d", g, got, want)
				}
			}
		})
	}
}
