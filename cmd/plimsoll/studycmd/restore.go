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
	cmd := &cobra.Command{
		Use:   "restore [DIR]",
		Short: "put back what a dead run left changed on this host",
		Long: "Put back whatever a dead run left changed on this host, newest change first.\n" +
			"Without a folder, every dead run of this user on this host is restored; runs of other users and runs that are still going are not touched. " +
			"With a folder, the run in it, also if the folder is gone. Only the undo log is believed, which lies in the state folder of the user: a results folder from elsewhere changes nothing. " +
			"A second call finds nothing to do.",
		Example: "  plimsoll restore\n  plimsoll restore results/queue-depth-20260102-150405",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, cancel := outliving(cmd.Context(), restoreTime)
			defer cancel()
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
