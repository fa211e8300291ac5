package resultscmd

import (
	"fmt"
	"io"
	"strings"

	"plimsoll/cmd/plimsoll/cli"

	"github.com/spf13/cobra"

	"plimsoll/internal/column"
	"plimsoll/internal/lab"
)

func (c *commands) runs() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "runs [FOLDER]",
		Short: "list the runs in a folder (default results) and their verdicts",
		Long: `List the runs in a folder, oldest first: study, start time, state and verdict.
"plimsoll resume" continues an interrupted run.`,
		Example:           "  plimsoll runs\n  plimsoll runs /srv/benchmarks --json",
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: cli.Folders,
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
				return cli.PrintJSON(c.screen.Out, append([]lab.Past{}, runs...))
			}
			if len(runs) == 0 {
				_, err := fmt.Fprintf(c.screen.Out, "no runs in %s\n", dir)
				return err
			}
			return PrintRuns(c.screen.Out, runs, c.screen.Columns())
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// PrintRuns writes a table of runs. On a terminal, which has a width, each answer stands below its run.
func PrintRuns(w io.Writer, runs []lab.Past, width int) error {
	var text strings.Builder
	table := column.NewTable(&text)
	head, answer := "FOLDER\tSTUDY\tSTARTED\tSTATE\tTRIALS", func(string) string { return "" }
	if width == 0 {
		head, answer = head+"\tANSWER", func(s string) string { return "\t" + s }
	}
	fmt.Fprintln(table, head)
	for _, r := range runs {
		started := "-"
		if !r.Started.IsZero() {
			started = r.Started.Local().Format("2006-01-02 15:04")
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%d%s\n", r.Dir, r.Study, started, r.State, r.Trials, answer(r.Answer))
	}
	if err := table.Flush(); err != nil {
		return err
	}
	for i, line := range strings.SplitAfter(text.String(), "\n") {
		if _, err := io.WriteString(w, line); err != nil {
			return err
		}
		if at := i - 1; width > 0 && at >= 0 && at < len(runs) {
			fmt.Fprint(w, cli.Fold("  "+runs[at].Answer+"\n", width))
		}
	}
	return nil
}
