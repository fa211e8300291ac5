package resultscmd

import (
	"errors"

	"github.com/spf13/cobra"

	"plimsoll/cmd/plimsoll/cli"
	"plimsoll/internal/finding"
	"plimsoll/internal/report"
	"plimsoll/internal/report/content"
	"plimsoll/internal/report/markdown"
	"plimsoll/internal/report/terminal"
)

func (c *commands) compare() *cobra.Command {
	var asJSON, asMarkdown bool
	var arms []string
	cmd := &cobra.Command{
		Use:   "compare A [B]",
		Short: "compare two runs, the arms of one, or results of other tools",
		Long: `Compare two runs, or the arms of one. A and B are results folders, fio JSON files,
folders of HCIBench results or files that "plimsoll import" reads. Both values of each
metric are printed, then the change.

Arms that both runs have are compared arm by arm. --arm selects one arm or fio job;
given twice, it selects an arm of A and an arm of B.

Runs that were not interleaved are compared with a weaker test, and the output says so.
Such a comparison verifies nothing.`,
		Example: "  plimsoll compare results/before results/after\n  plimsoll compare results/a\n  plimsoll compare before.json after.json --arm randread --markdown",
		Args:    cobra.RangeArgs(1, 2),
		RunE: func(_ *cobra.Command, args []string) error {
			switch {
			case len(args) == 1 && len(arms) > 0:
				return cli.Mistake(errors.New("--arm requires two runs; the arms of one run are compared with its first"))
			case len(arms) > 2:
				return cli.Mistake(errors.New("--arm: at most one for each run"))
			case len(args) == 1:
				return c.compareArms(args[0], asJSON, asMarkdown)
			}
			all, err := c.lab.ComparePair(args[0], args[1], arms)
			if err != nil {
				return err
			}
			switch {
			case asJSON:
				return cli.PrintJSON(c.screen.Out, comparisonsOf(all))
			case asMarkdown:
				return markdown.Compare(c.screen.Out, all)
			}
			for i := range all {
				all[i].Input = c.screen.Fit(all[i].Input)
			}
			return terminal.Compare(c.screen.Out, all)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the comparisons as JSON")
	cmd.Flags().BoolVar(&asMarkdown, "markdown", false, "print Markdown, for a pull request")
	cmd.Flags().StringArrayVar(&arms, "arm", nil, "compare only this `arm`, or job of fio; twice: of A and of B")
	return cmd
}

// compareArms compares the arms of one run.
func (c *commands) compareArms(dir string, asJSON, asMarkdown bool) error {
	outcome, err := c.lab.Judge(dir)
	if err != nil {
		return err
	}
	switch {
	case asJSON:
		return cli.PrintJSON(c.screen.Out, outcome.Findings)
	case asMarkdown:
		if err := markdown.Write(c.screen.Out, outcome.Input); err != nil {
			return err
		}
		return markdown.Changes(c.screen.Out, outcome.Input)
	}
	if err := c.screen.PrintReport(outcome.Input); err != nil {
		return err
	}
	return terminal.Changes(c.screen.Out, c.screen.Fit(outcome.Input))
}

// comparison is a comparison as JSON.
type comparison struct {
	Arm      string            `json:"arm,omitempty"` // that both sides have
	Before   content.Side      `json:"before"`
	After    content.Side      `json:"after"`
	Changes  []content.Change  `json:"changes"`
	Findings *finding.Findings `json:"findings"`
}

func comparisonsOf(all []content.Compared) any {
	var document struct {
		Comparisons []comparison `json:"comparisons"`
	}
	for i := range all {
		one := &all[i]
		document.Comparisons = append(document.Comparisons, comparison{one.Arm, one.Sides[0], one.Sides[1], content.Changes(report.New(one.Input)), one.Input.Findings})
	}
	return document
}
