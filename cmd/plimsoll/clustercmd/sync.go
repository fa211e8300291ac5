package clustercmd

import (
	"github.com/spf13/cobra"

	"plimsoll/cmd/plimsoll/cli"

	"plimsoll/internal/cluster/divvy"
	"plimsoll/internal/cluster/doctor"
)

func syncCommand(c *cli.Screen) *cobra.Command {
	var asJSON, precise bool
	var host string
	cmd := &cobra.Command{
		Use:   "sync BEFORE AFTER",
		Short: "say by which operations each host's copy of the pools follows a change",
		Long: `Say by which operations each host's copy of the resource pools gets from what one snapshot
entitles its machines to, to what a later one does, in an order in which no pool ever has
more reserved in it than it reserves. Hosts, pools and machines are the same in both where
their names are.`,
		Example: "  plimsoll cluster sync lab.yaml after.yaml\n  plimsoll cluster sync lab.yaml after.yaml --host esx-1 --precise",
		Args:    cobra.ExactArgs(2),
		RunE: func(_ *cobra.Command, args []string) error {
			before, err := readCluster(args[0])
			if err != nil {
				return err
			}
			after, err := readCluster(args[1])
			if err != nil {
				return err
			}
			keep := divvy.DefaultTolerance()
			if precise {
				keep = divvy.Precise()
			}
			sync, err := doctor.SyncHosts(before, after, host, keep)
			if err != nil {
				return cli.Mistake(err)
			}
			return c.Tell(sync, asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.Flags().StringVar(&host, "host", "", "tell this host alone, and all of its operations")
	cmd.Flags().BoolVar(&precise, "precise", false, "meet every number of a pool to the unit; otherwise changes by 1 % are left until they add up")
	return cmd
}
