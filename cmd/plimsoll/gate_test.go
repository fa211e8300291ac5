package main

import (
	"testing"

	"plimsoll/cmd/plimsoll/cli"
	"plimsoll/cmd/plimsoll/studycmd/gate"
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
		{"nothing declared", finding.Findings{}, cli.ExitDone, cli.ExitDone},
		{"limit kept", finding.Findings{Limits: limit(measure.Pass)}, cli.ExitDone, cli.ExitDone},
		{"limit missed", finding.Findings{Limits: limit(measure.Fail)}, cli.ExitVerdict, cli.ExitVerdict},
		{"limit without a value", finding.Findings{Limits: limit(measure.Unknown)}, cli.ExitOpen, cli.ExitDone},
		{"better", finding.Findings{Headlines: head(finding.Better)}, cli.ExitDone, cli.ExitDone},
		{"equivalent", finding.Findings{Headlines: head(finding.Equivalent)}, cli.ExitDone, cli.ExitDone},
		{"worse", finding.Findings{Headlines: head(finding.Worse)}, cli.ExitVerdict, cli.ExitVerdict},
		{"not enough runs", finding.Findings{Headlines: head(finding.NotEnoughRuns)}, cli.ExitOpen, cli.ExitDone},
		{"size open", finding.Findings{Headlines: head(finding.Different)}, cli.ExitOpen, cli.ExitDone},
		{"missed before undecided", finding.Findings{Limits: limit(measure.Fail), Headlines: head(finding.NotEnoughRuns)}, cli.ExitVerdict, cli.ExitVerdict},
		{"worse before a limit without a value", finding.Findings{Limits: limit(measure.Unknown), Headlines: head(finding.Worse)}, cli.ExitVerdict, cli.ExitVerdict},
	} {
		t.Run(c.name, func(t *testing.T) {
			for g, want := range map[gate.Gate]int{"": cli.ExitDone, gate.Strict: c.strict, gate.Lenient: c.lenient} {
				if got := cli.ExitStatus(g.Judge(&c.findings)); got != want {
					t.Errorf("gate %q: status %d, want %d", g, got, want)
				}
			}
		})
	}
}
