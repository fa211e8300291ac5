package main

import (
	"github.com/spf13/cobra"

	"plimsoll/internal/report"
)

func (c *command) compare() *cobra.Command {
	var asJSON, asMarkdown bool
	cmd := &cobra.Command{
		Use:   "compare A [B]",
		Short: "compare two runs, or the arms of one; also results of fio and HCIBench",
		Long: `Compare two runs, or the arms of one. A and B are results folders, fio JSON files
or folders of HCIBench results.

Two runs that were not interleaved are compared by a weaker test, and the answer
says so: it is never "verified".`,
		Example: "  plimsoll compare results/before results/after\n  plimsoll compare results/a\n  plimsoll compare before.json after.json --markdown",
		Args:    cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			outcome, err := c.lab.Compare(args...)
			if err != nil {
				return err
			}
			switch {
			case asJSON:
				return printJSON(c.out, outcome.Findings)
			case asMarkdown:
				return report.Markdown(c.out, outcome.Input)
			}
			return c.printReport(outcome.Input)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the findings as JSON")
	cmd.Flags().BoolVar(&asMarkdown, "markdown", false, "print Markdown, for a pull request")
	return cmd
}
