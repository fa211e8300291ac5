package resultscmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"plimsoll/cmd/plimsoll/cli"
	"plimsoll/internal/column"
	"plimsoll/internal/finding"
	"plimsoll/internal/history"
	"plimsoll/internal/trend"
	"plimsoll/internal/trend/page"
)

// trendFlags are the flags of trend.
type trendFlags struct {
	folders   []string
	metric    string
	html      string
	json, csv bool
	gate      bool
}

func (c *commands) trend() *cobra.Command {
	var f trendFlags
	cmd := &cobra.Command{
		Use:   "trend [STUDY]",
		Short: "show when the results of a study changed over its runs",
		Long: `Show when the results of a study changed over its finished runs. STUDY is its name
or its file. Without STUDY, the studies in the folders are listed.

Runs of the same study on the same testbed are a series. A change is provisional for
five runs, then frozen. Fewer than 13 runs are too few to see a change.

With --gate, exit status 1 while a change for the worse is provisional in the latest
series, and 4 while it has too few runs.`,
		Example:           "  plimsoll trend\n  plimsoll trend queue-depth\n  plimsoll trend queue-depth --in /srv/results --metric p99 --csv > p99.csv\n  plimsoll trend queue-depth --html trend.html --gate",
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: f.studies,
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.json && f.csv {
				return cli.Mistake(errors.New("--json and --csv exclude each other"))
			}
			if len(args) == 0 {
				return c.listTrends(cmd.Context(), &f)
			}
			return c.showTrend(cmd.Context(), &f, args[0])
		},
	}
	cmd.Flags().StringArrayVar(&f.folders, "in", []string{"results"}, "`folder` with results folders; may be repeated")
	cmd.Flags().StringVar(&f.metric, "metric", "", "`metric` (default: the headlines of the study)")
	cmd.Flags().BoolVar(&f.json, "json", false, "print JSON")
	cmd.Flags().BoolVar(&f.csv, "csv", false, "print a row per run as CSV")
	cmd.Flags().StringVar(&f.html, "html", "", "also write the trend as a page to a new `file`")
	cmd.Flags().BoolVar(&f.gate, "gate", false, "exit with status 1 while a change for the worse is provisional")
	return cmd
}

// studies completes the names of studies.
func (f *trendFlags) studies(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	all, err := trend.Studies(cmd.Context(), history.New(history.CacheFolder()), f.folders)
	if err != nil || len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var names []string
	for _, one := range all {
		names = append(names, one.Study)
	}
	return names, cobra.ShellCompDirectiveDefault
}

func (c *commands) listTrends(ctx context.Context, f *trendFlags) error {
	if f.metric != "" || f.csv || f.html != "" || f.gate {
		return cli.Mistake(errors.New("--metric, --csv, --html and --gate require a study: plimsoll trend STUDY"))
	}
	all, err := trend.Studies(ctx, history.New(history.CacheFolder()), f.folders)
	if err != nil {
		return err
	}
	if f.json {
		return cli.PrintJSON(c.screen.Out, append([]trend.Count{}, all...))
	}
	if len(all) == 0 {
		_, err := fmt.Fprintf(c.screen.Out, "no runs in %s\n", strings.Join(f.folders, ", "))
		return err
	}
	table := column.NewTable(c.screen.Out)
	fmt.Fprintln(table, "STUDY\tFOLDERS")
	for _, one := range all {
		fmt.Fprintf(table, "%s\t%d\n", one.Study, one.Folders)
	}
	return table.Flush()
}

func (c *commands) showTrend(ctx context.Context, f *trendFlags, study string) error {
	if ext := filepath.Ext(study); ext == ".yaml" || ext == ".yml" {
		source, err := c.lab.Read(study, nil)
		if err != nil {
			return err
		}
		study = source.Study.Name
	}
	t, err := trend.Read(ctx, c.lab.Catalog, trend.Request{Index: history.New(history.CacheFolder()), Folders: f.folders, Study: study, Metric: f.metric})
	if err != nil {
		return err
	}
	if f.html != "" {
		text, err := page.Shown{Trend: t}.Page()
		if err == nil {
			err = cli.Create(f.html, "the page", func(w io.Writer) error { _, err := w.Write(text); return err })
		}
		if err != nil {
			return err
		}
	}
	if f.csv {
		err = t.CSV(c.screen.Raw())
	} else {
		err = c.screen.Tell(t, f.json)
	}
	if err != nil || !f.gate {
		return err
	}
	return gateOf(t)
}

// gateOf is the exit status of a trend.
func gateOf(t *trend.Trend) error {
	s := t.Latest()
	if s == nil || len(s.Lines) == 0 {
		return cli.Undecided("gate not decided: " + t.Study + " has no finished run with a value")
	}
	for i := range s.Lines {
		if change := s.Lines[i].Standing(); change != nil && change.Verdict == finding.Worse {
			return cli.Verdict(fmt.Sprintf("%s: %s since %s", s.Lines[i].Name(), change.Summary(), trend.Time(change.Started)))
		}
	}
	if few := slices.IndexFunc(s.Lines, func(l trend.Line) bool { return l.Few() }); few >= 0 {
		return cli.Undecided(fmt.Sprintf("gate not decided: %s: %s", s.Lines[few].Name(), s.Lines[few].Answer()))
	}
	return nil
}
