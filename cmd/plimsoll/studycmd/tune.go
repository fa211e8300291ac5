package studycmd

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"plimsoll/cmd/plimsoll/cli"
	"plimsoll/internal/study/timing"
)

func (c *commands) tune() *cobra.Command {
	var a asked
	var o output
	var rounds int
	var limit time.Duration
	var allow string
	cmd := &cobra.Command{
		Use:   "tune STUDY",
		Short: "change one setting at a time, verify it, keep or roll back",
		Long: `Tune a study towards its goal: measure, find the bottleneck, change one parameter,
and verify the change on fresh blocks with a new seed. A change that is not
verified is rolled back. When no rule asks for a change, candidate levels race in a
few trials, and the most promising are verified in the same way. Candidates are
those of the key tune of the study, else those of the catalog. At the end, the
changes are verified together. Changes that can lose data or weaken security need
--allow unsafe.

Ctrl-C stops and restores all settings; "plimsoll resume" continues the tuning.`,
		Example: "  plimsoll tune hci-diagnostics\n  plimsoll tune my-study.yaml --out results/tuning --rounds 10 --time 1h",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if allow != "" && allow != timing.AllowUnsafe {
				return cli.Mistake(fmt.Errorf("--allow: %q is not %s", allow, timing.AllowUnsafe))
			}
			if rounds < 0 || limit < 0 {
				return cli.Mistake(fmt.Errorf("--rounds and --time must not be negative"))
			}
			r, err := c.request(cmd, args[0], &a)
			if err != nil {
				return err
			}
			r.Dir, r.Tuning.Changes, r.Tuning.Time, r.Tuning.Unsafe = o.folder(r.Source.Study.Name), rounds, limit, allow != ""
			watch, err := c.watch(cmd.Context(), &o.reporting)
			if err != nil {
				return err
			}
			outcome, err := c.lab.Tune(watch.Context, r)
			return c.finish(outcome, resumable(outcome, watch.Done(err)), &o.reporting, delivery{})
		},
	}
	a.flags(c, cmd)
	o.flags(cmd)
	cmd.Flags().IntVar(&rounds, "rounds", 0, "maximum number of changes to try (default that of the study, else 5)")
	cmd.Flags().DurationVar(&limit, "time", 0, "try no further change after this `duration` (default that of the study)")
	cmd.Flags().StringVar(&allow, "allow", "", "`unsafe`: also try changes that can lose data or weaken security")
	cli.Complete(cmd, "allow", func(string) []string { return []string{timing.AllowUnsafe} })
	return cmd
}
