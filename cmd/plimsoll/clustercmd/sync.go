package clustercmd

import (
	"github.com/spf13/cobra"

	"plimsoll/cmd/plimsoll/cli"

	"plimsoll/internal/cluster/divvy/hosttree"
	"plimsoll/internal/cluster/doctor/pools"
)

func syncCommand(c *cli.Screen) *cobra.Command {
	var asJSON, precise bool
	var host string
	cmd := &cobra.Command{
		Use:   "sync BEFORE AFTER",
		Short: "list the operations that bring hosts' pool trees up to date",
		Long: `List the operations that bring each host's copy of the resource pools from the entitlements
of one snapshot to those of a later one. After each operation, no pool is overcommitted.
Hosts, pools and VMs are matched by name.`,
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
			keep := hosttree.DefaultTolerance()
			if precise {
				keep = hosttree.Precise()
			}
			sync, err := pools.SyncHosts(before, after, host, keep)
			if err != nil {
				return cli.Mistake(err)
			}
			return c.Tell(sync, asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.Flags().StringVar(&host, "host", "", "print only this `host`, with all its operations")
	cmd.Flags().BoolVar(&precise, "precise", false, "set every number of a pool exactly; otherwise changes up to 1 % are deferred")
	return cmd
}
