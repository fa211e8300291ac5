package studycmd

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"plimsoll/cmd/plimsoll/cli"
	"plimsoll/cmd/plimsoll/studycmd/progress"
	"plimsoll/internal/lab"
)

// Protect is the command about the protection of guests.
func Protect(s *cli.Screen, l *lab.Lab) *cobra.Command { return (&commands{s, l}).protect() }

func (c *commands) protect() *cobra.Command {
	var a asked
	var o output
	var every, length time.Duration
	cmd := &cobra.Command{
		Use:   "protect STUDY",
		Short: "run the load of a study in protected guests, and show their checkpoints",
		Long: `Run the load of a study once, in guests that have a standby. Each second shows the
checkpoints of each guest: their number, how long they stop the guest, what they copy,
and by how much they delay what the guest sends.

The study must be for platform guest. Its factors are left out, and its disks are behind
the NBD server. To compare guests with and without a standby, run a study with the
factor guest.protection.`,
		Example: "  plimsoll guest protect monster-vms\n  plimsoll guest protect ft-fast-checkpoint --every 50ms --for 20s --json",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			a.sets = append([]string{
				"platform.guest.io_filter=nbd", "platform.guest.cache=writeback", "platform.guest.protection=checkpoint:" + every.String(), "factors={}",
				"measure.blocks=1", "measure.window=" + length.String(), "measure.longest=" + (3 * length).String(),
			}, a.sets...)
			if err := c.forGuests(args[0]); err != nil {
				return err
			}
			r, err := c.request(cmd, args[0], &a)
			if err != nil {
				return err
			}
			r.Dir = o.folder(r.Source.Study.Name + "-protected")
			o.quiet = true // the checkpoints are shown instead
			asJSON := o.json
			o.json = false
			return c.perform(cmd.Context(), &o.reporting, delivery{}, func(ctx context.Context) (*lab.Outcome, error) {
				c.lab.Progress = progress.Checkpoints(c.screen, asJSON)
				return c.lab.Run(ctx, r)
			})
		},
	}
	a.flags(c, cmd)
	o.flags(cmd)
	cmd.Flags().DurationVar(&every, "every", 100*time.Millisecond, "`time` between checkpoints")
	cmd.Flags().DurationVar(&length, "for", 30*time.Second, "`time` of the load that is measured")
	cmd.Flags().Lookup("json").Usage = "print the checkpoints as JSON Lines"
	return cmd
}

// forGuests refuses a study that has no guests.
func (c *commands) forGuests(name string) error {
	source, err := c.lab.Read(name, nil)
	if err != nil {
		return err
	}
	if p := source.Study.Platform.Kind; p != "guest" {
		return cli.Mistake(fmt.Errorf("study %s is for platform %s, and protection for guests: name a study with platform: guest", source.Study.Name, p))
	}
	return nil
}
