package main

import (
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"plimsoll/internal/lab"
)

func (c *command) runs() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "runs [FOLDER]",
		Short: "list the runs in a folder (default results) with their answers",
		Long: `List the results folders in a folder, the latest last: study, start, state and
the answer. An interrupted run is continued with "plimsoll resume".`,
		Example:           "  plimsoll runs\n  plimsoll runs /srv/benchmarks --json",
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: folders,
		RunE: func(_ *cobra.Command, args []string) error {
			dir := "results"
			if len(args) == 1 {
				dir = args[0]
			}
			runs, err := c.lab.Runs(dir)
			if err != nil {
				return err
			}
			if asJSON {
				return printJSON(c.out, append([]lab.Past{}, runs...))
			}
			if len(runs) == 0 {
				_, err := fmt.Fprintf(c.out, "no runs in %s\n", dir)
				return err
			}
			table := tabwriter.NewWriter(c.out, 0, 0, 2, ' ', 0)
			fmt.Fprintln(table, "FOLDER\tSTUDY\tSTARTED\tSTATE\tTRIALS\tANSWER")
			for _, r := range runs {
				started := "-"
				if !r.Started.IsZero() {
					started = r.Started.Local().Format("2006-01-02 15:04")
				}
				fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%d\t%s\n", r.Dir, r.Study, started, r.State, r.Trials, r.Answer)
			}
			return table.Flush()
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}
