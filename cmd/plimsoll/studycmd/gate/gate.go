// Package gate makes an exit status of findings.
package gate

import (
	"fmt"
	"slices"

	"plimsoll/cmd/plimsoll/cli"

	"github.com/spf13/cobra"

	"plimsoll/internal/finding"
	"plimsoll/internal/measure"
)

// Gate is how findings become an exit status; empty where none was asked for.
type Gate string

// The gates.
const (
	Strict  Gate = "strict"
	Lenient Gate = "lenient" // what could not be decided passes
)

// Flag adds the flag of a gate to a command.
func (g *Gate) Flag(cmd *cobra.Command) {
	cmd.Flags().Var(g, "gate", "exit with status 1 if a limit is missed or a headline is worse, and with 4\nif either is undecided; with --gate=lenient, undecided is success")
	cmd.Flags().Lookup("gate").NoOptDefVal = string(Strict)
	_ = cmd.RegisterFlagCompletionFunc("gate", cobra.FixedCompletions([]string{string(Strict), string(Lenient)}, cobra.ShellCompDirectiveNoFileComp))
}

// String is the value of the flag.
func (g *Gate) String() string { return string(*g) }

// Type tells the values that there are.
func (g *Gate) Type() string { return "strict|lenient" }

// Set takes a value of the flag.
func (g *Gate) Set(text string) error {
	if v := Gate(text); v == Strict || v == Lenient {
		*g = v
		return nil
	}
	return fmt.Errorf("--gate must be %s or %s", Strict, Lenient)
}

// Judge returns a verdict when the gate is missed, undecided when a limit or a
// headline is open, and nil when it passes or no gate was asked for.
func (g Gate) Judge(f *finding.Findings) error {
	if g == "" {
		return nil
	}
	for _, l := range f.Limits {
		if l.State == measure.Fail {
			return cli.Verdict("limit missed: " + l.Limit + inArm(f, l.Arm))
		}
	}
	for _, h := range f.Headlines {
		if h.Verdict == finding.Worse {
			return cli.Verdict(h.Sentence.Text)
		}
	}
	if g == Lenient {
		return nil
	}
	for _, l := range f.Limits {
		if l.State != measure.Pass {
			return cli.Undecided("limit not judged: " + l.Limit + inArm(f, l.Arm) + ": no value was measured")
		}
	}
	open := func(h finding.Comparison) bool {
		return h.Verdict == finding.NotEnoughRuns || h.Verdict == finding.Different
	}
	if i := slices.IndexFunc(f.Headlines, open); i >= 0 {
		return cli.Undecided("gate not decided: " + f.Headlines[i].Sentence.Text)
	}
	return nil
}

// inArm names the arm of a limit where a study has several.
func inArm(f *finding.Findings, arm int) string {
	if len(f.Arms) < 2 {
		return ""
	}
	for _, a := range f.Arms {
		if a.Index == arm {
			return " (" + a.Label + ")"
		}
	}
	return ""
}
