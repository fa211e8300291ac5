package studycmd

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
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
		Use:   "protect STUDY [GUEST]...",
		Short: "run the load of a study against protected guests, and show their checkpoints",
		Long: `Run the load of a study once, with a standby for its guests: those of the groups that are
named or, without names, of all groups that run no load. Each second shows the checkpoints
of each guest: their number, how long they stop the guest, what they copy, and by how much
they delay what the guest sends.

The study must be for platform guest, with the load in another group than the guests to
protect: the clock of a guest stops while it is paused. Its factors are left out, and the
disks of protected guests are behind the NBD server. To compare guests with and without a
standby, run a study with the factor guest.protection.`,
		Example: "  plimsoll guest protect ft-fast-checkpoint\n  plimsoll guest protect ft-fast-checkpoint server --every 50ms --for 20s --json",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			guests, err := c.protectable(args[0], args[1:])
			if err != nil {
				return err
			}
			a.sets = append(append([]string{"factors={}", "measure.blocks=1", "measure.window=" + length.String(), "measure.longest=" + (3 * length).String()}, standbys(guests, every)...), a.sets...)
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

// standbys are the settings by which the guests of groups have a standby.
func standbys(groups []string, every time.Duration) (sets []string) {
	for _, name := range groups {
		at := "groups." + name + ".settings."
		sets = append(sets, at+"protection=checkpoint:"+every.String(), at+"io_filter=nbd", at+"cache=writeback")
	}
	return sets
}

// protectable are the groups of a study whose guests can have a standby, of those that are named. Without names it is all such groups.
func (c *commands) protectable(name string, named []string) ([]string, error) {
	source, err := c.lab.Read(name, nil)
	if err != nil {
		return nil, err
	}
	s := source.Study
	if s.Platform.Kind != "guest" {
		return nil, cli.Mistake(fmt.Errorf("study %s is for platform %s, and protection for guests: name a study with platform: guest", s.Name, s.Platform.Kind))
	}
	var idle []string
	for _, g := range s.Groups {
		if !g.Loaded() {
			idle = append(idle, g.Name)
		}
	}
	for _, guest := range named {
		if s.Group(guest) == nil {
			return nil, cli.Mistake(fmt.Errorf("study %s has no guest %q: its groups are %s", s.Name, guest, cmp.Or(strings.Join(s.GroupNames(), ", "), "none")))
		}
		if !slices.Contains(idle, guest) {
			return nil, cli.Mistake(fmt.Errorf("guest %s of study %s runs the load, and its clock would stop while it is paused: name a group that runs none", guest, s.Name))
		}
	}
	if len(idle) == 0 {
		return nil, cli.Mistake(fmt.Errorf("all guests of study %s run its load, and their clocks would stop while they are paused: name one with the load in another group, such as ft-fast-checkpoint", s.Name))
	}
	if len(named) > 0 {
		return named, nil
	}
	return idle, nil
}
