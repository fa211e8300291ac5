package studycmd

import (
	"fmt"
	"slices"

	"plimsoll/cmd/plimsoll/cli"

	"github.com/spf13/cobra"

	"plimsoll/internal/finding"
	"plimsoll/internal/measure"
)

// gate is how findings become an exit status; empty where none was asked for.
type gate string

const (
	gateStrict  gate = "strict"
	gateLenient gate = "lenient" // what could not be decided passes
)

func (g *gate) flag(cmd *cobra.Command) {
	cmd.Flags().Var(g, "gate", "exit with status 1 if a limit is missed or a headline is worse, and with 4\nif either is undecided; with --gate=lenient, undecided is success")
	cmd.Flags().Lookup("gate").NoOptDefVal = string(gateStrict)
	_ = cmd.RegisterFlagCompletionFunc("gate", cobra.FixedCompletions([]string{string(gateStrict), string(gateLenient)}, cobra.ShellCompDirectiveNoFileComp))
}

// String, Set and Type make gate a flag's value.
func (g *gate) String() string { return string(*g) }
func (g *gate) Type() string   { return "strict|lenient" }
func (g *gate) Set(text string) error {
	if v := gate(text); v == gateStrict || v == gateLenient {
		*g = v
		return nil
	}
	return fmt.Errorf("--gate must be %s or %s", gateStrict, gateLenient)
}

// judge returns a verdict when the gate is missed, undecided when a limit or a
// headline is open, and nil when it passes or no gate was asked for.
func (g gate) judge(f *finding.Findings) error {
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
	if g == gateLenient {
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
