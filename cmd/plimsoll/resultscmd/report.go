package resultscmd

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"plimsoll/cmd/plimsoll/cli"
	"plimsoll/internal/report/markdown"
)

func (c *commands) report() *cobra.Command {
	var asJSON, asMarkdown bool
	var file cli.JUnit
	cmd := &cobra.Command{
		Use:               "report DIR",
		Short:             "recompute the findings of a run and write its report",
		Long:              "Recompute the findings of a run from its records, by the rules of this version, and rewrite\nfindings.json and report.html. No machine is accessed.",
		Example:           "  plimsoll report results/queue-depth-20260102-150405\n  plimsoll report results/a --markdown >> pull-request.md\n  plimsoll report results/a --junit results.xml",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: cli.Folders,
		RunE: func(_ *cobra.Command, args []string) error {
			if err := file.Check(); err != nil {
				return err
			}
			outcome, err := c.lab.Judge(args[0])
			if err != nil {
				return err
			}
			if err := errors.Join(outcome.Write(), file.Write(outcome.Input, nil)); err != nil {
				return err
			}
			switch {
			case asJSON:
				return cli.PrintJSON(c.screen.Out, outcome.Findings)
			case asMarkdown:
				return markdown.Write(c.screen.Out, outcome.Input)
			}
			if err := c.screen.PrintReport(outcome.Input); err != nil {
				return err
			}
			_, err = fmt.Fprintf(c.screen.Out, "\nreport: %s\n", filepath.Join(outcome.Dir, "report.html"))
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the findings as JSON")
	cmd.Flags().BoolVar(&asMarkdown, "markdown", false, "print Markdown, for a pull request")
	cmd.Flags().StringVar((*string)(&file), "junit", "", file.Usage())
	return cmd
}
