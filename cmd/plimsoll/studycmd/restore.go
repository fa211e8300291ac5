package studycmd

import (
	"context"
	"fmt"
	"time"

	"plimsoll/cmd/plimsoll/cli"

	"github.com/spf13/cobra"
)

func (c *commands) restore() *cobra.Command {
	var asJSON bool
	var of orphans
	cmd := &cobra.Command{
		Use:   "restore [DIR]",
		Short: "restore the settings that a killed run changed on this host",
		Long: "Restore the settings that a killed run changed on this host, newest change first.\n" +
			"Without DIR, all killed runs of this user on this host are restored. Runs in progress\n" +
			"and runs of other users are not affected. With DIR, only the run in this folder is\n" +
			"restored, even if the folder no longer exists.\n\n" +
			"Settings come from the undo log in the user's state folder, never from a results folder.\n\n" +
			"With --live, the VMs that loads of the workload operations left on a live cluster are listed,\n" +
			"whichever run and host they come from. --remove removes those of labs that are dead. VMs of labs\n" +
			"that run are never touched. From this host one cannot tell whether a lab on another host runs:\n" +
			"those VMs are removed only with --others, when you know that it does not.",
		Example: "  plimsoll restore\n  plimsoll restore results/queue-depth-20260102-150405\n  plimsoll restore --live libvirt:///etc/plimsoll/lab.yaml --remove",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, cancel := outliving(cmd.Context(), restoreTime)
			defer cancel()
			if err := of.check(args); err != nil {
				return err
			}
			if of.url != "" {
				return of.restore(ctx, c.screen, asJSON)
			}
			done, err := c.lab.Restore(ctx, args...)
			if asJSON {
				if done == nil {
					done = []string{}
				}
				if e := cli.PrintJSON(c.screen.Out, done); e != nil {
					return e
				}
				return err
			}
			for _, line := range done {
				fmt.Fprintln(c.screen.Out, line)
			}
			if len(done) == 0 && err == nil {
				fmt.Fprintln(c.screen.Out, "nothing to restore")
			}
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.Flags().StringVar(&of.url, "live", "", "list the VMs left on the live cluster of this `URL`; see plimsoll cluster --help")
	cmd.Flags().BoolVar(&of.remove, "remove", false, "with --live, remove the VMs of labs that are dead")
	cmd.Flags().BoolVar(&of.others, "others", false, "with --remove, also those of labs of which this host cannot tell")
	return cmd
}

// restoreTime is how much longer restore may take once it was asked to stop.
const restoreTime = 30 * time.Second

// outliving is a context that ends only some time after its parent.
func outliving(parent context.Context, more time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(parent))
	stop := context.AfterFunc(parent, func() {
		time.AfterFunc(more, func() { cancel(context.Cause(parent)) })
	})
	return ctx, func() { stop(); cancel(nil) }
}
