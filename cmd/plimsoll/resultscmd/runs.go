package resultscmd

import (
	"fmt"
	"io"
	"strings"
	"time"

	"plimsoll/cmd/plimsoll/cli"

	"github.com/spf13/cobra"

	"plimsoll/internal/column"
	"plimsoll/internal/history"
)

// results is the folder in which runs are by default.
const results = "results"

// listing is what the flags of runs select.
type listing struct {
	filter history.Filter
	state  string
	since  string
	sort   string
	json   bool
}

func (c *commands) runs() *cobra.Command {
	var l listing
	cmd := &cobra.Command{
		Use:   "runs [FOLDER]",
		Short: "list the runs in a folder (default results) and their verdicts",
		Long: `List the runs in a folder, oldest first: study, start time, state and verdict.
"plimsoll resume" continues an interrupted run.

An index in the user's cache folder makes long lists fast. It may be removed at any time.`,
		Example:           "  plimsoll runs\n  plimsoll runs --study queue-depth --verdict better --since 30d\n  plimsoll runs /srv/benchmarks --sort -trials --json",
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: cli.Folders,
		RunE:              func(cmd *cobra.Command, args []string) error { return c.listRuns(cmd, l, args) },
	}
	f := cmd.Flags()
	f.StringVar(&l.filter.Study, "study", "", "only runs of this `study`")
	f.StringVar(&l.state, "state", "", "only runs in this `state`: "+strings.Join(history.States(), ", "))
	f.StringVar(&l.filter.Verdict, "verdict", "", "only runs with this `verdict`, or one that begins so")
	f.StringVar(&l.since, "since", "", "only runs since this `time`: a date, or an age such as 30d")
	f.StringVar(&l.filter.Tag, "tag", "", "only runs with this `tag`")
	f.StringVar(&l.filter.Text, "search", "", "only runs with this `text` in folder, study, question, answer, testbed or tag")
	f.StringVar(&l.sort, "sort", "started", "`order`: "+strings.Join(history.Orders(), ", ")+"; with - before it in reverse")
	f.BoolVar(&l.json, "json", false, "print JSON")
	cli.Complete(cmd, "state", func(string) []string { return history.States() })
	cli.Complete(cmd, "sort", func(string) []string { return history.Orders() })
	cmd.AddCommand(c.tag(), c.prune())
	return cmd
}

// folderOf is the folder of a command line.
func folderOf(args []string) string {
	if len(args) == 1 {
		return args[0]
	}
	return results
}

func (c *commands) listRuns(cmd *cobra.Command, l listing, args []string) (err error) {
	l.filter.State = history.State(l.state)
	if err := l.filter.Check(); err != nil {
		return cli.Mistake(fmt.Errorf("--state: %w", err))
	}
	if l.filter.Since, err = history.Since(l.since, time.Now()); err != nil {
		return cli.Mistake(fmt.Errorf("--since: %w", err))
	}
	folder := folderOf(args)
	all, err := history.New(history.CacheFolder()).Runs(cmd.Context(), folder)
	if err != nil {
		return cli.Mistake(err)
	}
	runs := l.filter.Select(all)
	if err := history.Sort(runs, l.sort); err != nil {
		return cli.Mistake(fmt.Errorf("--sort: %w", err))
	}
	switch {
	case l.json:
		return cli.PrintJSON(c.screen.Out, runs)
	case len(all) == 0:
		_, err := fmt.Fprintf(c.screen.Out, "no runs in %s\n", folder)
		return err
	case len(runs) == 0:
		_, err := fmt.Fprintf(c.screen.Out, "none of the %d runs in %s matches\n", len(all), folder)
		return err
	}
	return PrintRuns(c.screen.Out, runs, c.screen.Columns())
}

// PrintRuns writes a table of runs. On a terminal, which has a width, each answer stands below its run.
func PrintRuns(w io.Writer, runs []history.Run, width int) error {
	var text strings.Builder
	table := column.NewTable(&text)
	head, answer := "FOLDER\tSTUDY\tSTARTED\tSTATE\tTRIALS", func(string) string { return "" }
	if width == 0 {
		head, answer = head+"\tANSWER", func(s string) string { return "\t" + s }
	}
	fmt.Fprintln(table, head)
	for i := range runs {
		r := &runs[i]
		started := "-"
		if !r.Started.IsZero() {
			started = r.Started.Local().Format("2006-01-02 15:04")
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%d%s\n", r.Folder, r.Study, started, r.State, r.Trials, answer(told(r)))
	}
	if err := table.Flush(); err != nil {
		return err
	}
	for i, line := range strings.SplitAfter(text.String(), "\n") {
		if _, err := io.WriteString(w, line); err != nil {
			return err
		}
		if at := i - 1; width > 0 && at >= 0 && at < len(runs) {
			fmt.Fprint(w, cli.Fold("  "+told(&runs[at])+"\n", width))
		}
	}
	return nil
}

// told is the answer of a run, with its tags before it.
func told(r *history.Run) string {
	if len(r.Tags) == 0 {
		return r.Answer
	}
	return "[" + strings.Join(r.Tags, ", ") + "] " + r.Answer
}
