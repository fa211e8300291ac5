package resultscmd

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"plimsoll/cmd/plimsoll/cli"
	"plimsoll/internal/history"
	"plimsoll/internal/parameter"
)

func (c *commands) tag() *cobra.Command {
	var remove []string
	var asJSON bool
	cmd := &cobra.Command{
		Use:               "tag DIR [TAG...]",
		Short:             "add tags to a run, or print them",
		Long:              "Add tags to a run, or print those that it has. They are kept in its results folder, in " + history.TagFile + ".\nRuns with the tag " + history.Keep + " are never pruned.",
		Example:           "  plimsoll runs tag results/queue-depth-20260102-150405 keep before-upgrade\n  plimsoll runs tag results/a --remove keep",
		Args:              cobra.MinimumNArgs(1),
		ValidArgsFunction: cli.Folders,
		RunE: func(_ *cobra.Command, args []string) error {
			tags, err := history.SetTags(args[0], args[1:], remove)
			if err != nil {
				return cli.Mistake(err)
			}
			if asJSON {
				return cli.PrintJSON(c.screen.Out, append([]string{}, tags...))
			}
			text := "no tags"
			if len(tags) > 0 {
				text = strings.Join(tags, " ")
			}
			_, err = fmt.Fprintln(c.screen.Out, text)
			return err
		},
	}
	cmd.Flags().StringArrayVar(&remove, "remove", nil, "remove this `tag`; may be repeated")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// pruning is what the flags of prune ask for.
type pruning struct {
	older, study     string
	keep             int
	dry, yes, asJSON bool
}

func (c *commands) prune() *cobra.Command {
	var p pruning
	cmd := &cobra.Command{
		Use:   "prune [FOLDER]",
		Short: "remove old runs",
		Long: `Remove the runs in a folder (default results) that started before the age of --older.
--keep keeps the latest runs of each study. Of both, a run has to fulfil both.

Never removed are runs that go on, damaged ones, those with the tag keep, and those
whose changes to a host were not undone.`,
		Example:           "  plimsoll runs prune --older 90d --keep 5 --dry-run\n  plimsoll runs prune /srv/benchmarks --older 52w --yes",
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: cli.Folders,
		RunE:              func(cmd *cobra.Command, args []string) error { return c.pruneRuns(cmd, p, folderOf(args)) },
	}
	f := cmd.Flags()
	f.StringVar(&p.older, "older", "", "`age` from which runs are removed, such as 90d")
	f.IntVar(&p.keep, "keep", 0, "`number` of the latest runs of each study to keep")
	f.StringVar(&p.study, "study", "", "only runs of this `study`")
	f.BoolVar(&p.dry, "dry-run", false, "print what would be removed, and remove nothing")
	f.BoolVar(&p.yes, "yes", false, "do not ask")
	f.BoolVar(&p.asJSON, "json", false, "print the runs as JSON")
	return cmd
}

func (c *commands) pruneRuns(cmd *cobra.Command, p pruning, folder string) error {
	rule := history.Prune{Keep: p.keep}
	switch {
	case p.older == "" && p.keep == 0:
		return cli.Mistake(errors.New("specify the runs to remove with --older, --keep or both"))
	case p.keep < 0:
		return cli.Mistake(fmt.Errorf("--keep is %d: must be at least 0", p.keep))
	case p.older != "":
		age, err := history.Age(p.older)
		if err != nil {
			return cli.Mistake(fmt.Errorf("--older: %q is %w", p.older, err))
		}
		rule.Older = age
	}
	all, err := history.New(history.CacheFolder()).Runs(cmd.Context(), folder)
	if err != nil {
		return cli.Mistake(err)
	}
	chosen := rule.Select((&history.Filter{Study: p.study}).Select(all), time.Now())
	if !p.dry && !p.yes && len(chosen) > 0 {
		agreed, err := c.agree(cmd.InOrStdin(), chosen)
		if err != nil || !agreed {
			return err
		}
	}
	removed := []history.Run{}
	var failed error
	for _, r := range chosen {
		if !p.dry {
			if err := history.Remove(r.Folder); err != nil {
				failed = errors.Join(failed, err)
				continue
			}
		}
		removed = append(removed, r)
	}
	if !p.dry && len(all) > 0 {
		failed = errors.Join(failed, history.Sweep(folder))
	}
	return errors.Join(c.pruned(p, removed), failed)
}

// pruned prints the runs that were, or would be, removed.
func (c *commands) pruned(p pruning, runs []history.Run) error {
	if p.asJSON {
		return cli.PrintJSON(c.screen.Out, runs)
	}
	verb := "removed"
	if p.dry {
		verb = "would remove"
	}
	if len(runs) == 0 {
		_, err := fmt.Fprintln(c.screen.Out, "nothing to remove")
		return err
	}
	for _, r := range runs {
		if _, err := fmt.Fprintf(c.screen.Out, "%s %s (%s)\n", verb, r.Folder, r.Started.Local().Format(time.DateOnly)); err != nil {
			return err
		}
	}
	return nil
}

// agree asks on the terminal whether runs are to be removed. Without a terminal, --yes has to say so.
func (c *commands) agree(in io.Reader, runs []history.Run) (bool, error) {
	if file, ok := in.(*os.File); !ok || !cli.IsTerminal(file) {
		return false, cli.Mistake(fmt.Errorf("%d runs would be removed: confirm with --yes, or look first with --dry-run", len(runs)))
	}
	var size int64
	for _, r := range runs {
		size += history.Size(r.Folder)
		fmt.Fprintln(c.screen.Err, r.Folder)
	}
	fmt.Fprintf(c.screen.Err, "Remove these %d runs (%s)? [y/N] ", len(runs), parameter.Bytes(size).About())
	line, err := bufio.NewReader(in).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return false, fmt.Errorf("read the answer: %w", err)
	}
	answer := strings.ToLower(strings.TrimSpace(line))
	return answer == "y" || answer == "yes", nil
}
