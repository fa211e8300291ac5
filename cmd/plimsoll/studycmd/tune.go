package studycmd

import (
	"github.com/spf13/cobra"
)

func (c *commands) tune() *cobra.Command {
	var a asked
	var o output
	var rounds int
	cmd := &cobra.Command{
		Use:   "tune STUDY",
		Short: "change one setting, verify it on fresh blocks, keep or roll back",
		Long: `Tune a study towards its goal: measure, find the bottleneck, change one parameter,
and verify the change on fresh blocks with a new seed. A change that is not
verified is rolled back. Tuning ends when no rule fires or no change is verified.`,
		Example: "  plimsoll tune hci-diagnostics\n  plimsoll tune my-study.yaml --out results/tuning",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			r, err := c.request(cmd, args[0], &a)
			if err != nil {
				return err
			}
			r.Dir, r.Rounds = o.folder(r.Source.Study.Name), rounds
			watch, err := c.watch(cmd.Context(), &o.reporting)
			if err != nil {
				return err
			}
			outcome, err := c.lab.Tune(watch.Context, r)
			err = watch.Done(err)
			return c.finish(outcome, err, &o.reporting, "")
		},
	}
	a.flags(c, cmd)
	o.flags(cmd)
	cmd.Flags().IntVar(&rounds, "rounds", 0, "maximum number of changes to try (default 5)")
	return cmd
}
