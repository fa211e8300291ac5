package clustercmd

import (
	"plimsoll/cmd/plimsoll/cli"

	"github.com/spf13/cobra"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/doctor/pools"
)

func showCommand(c *clusters) *cobra.Command {
	var vms bool
	cmd := &cobra.Command{
		Use:   "show SNAPSHOT",
		Short: "show the entitlements of pools and VMs",
		Long: `Divide the capacity of the cluster among its pools and VMs by shares, reservations and
limits. Show the demand and the entitlement of each.

With --out, the cluster is written as a snapshot to keep, such as of a live one.`,
		Example: "  plimsoll cluster show lab.yaml\n  plimsoll cluster show lab.yaml --vms --json\n" +
			"  plimsoll cluster show --live 'vsphere://operator@vcenter.example/DC/Cluster?password=env:VCENTER_PASSWORD' --observe 5m --out lab.yaml",
		Args: cobra.ExactArgs(1),
	}
	cmd.Flags().BoolVar(&vms, "vms", false, "list every VM as well")
	cmd.Flags().BoolVar(&vms, "machines", false, "the former name of --vms")
	_ = cmd.Flags().MarkHidden("machines")
	out := cmd.Flags().String("out", "", "write the cluster as a snapshot to a new `file`")
	return answers(c, cmd, func(cl *cluster.Cluster, _ []string) (cli.Told, error) {
		if *out != "" {
			if err := createSnapshot(*out, cl, false); err != nil {
				return nil, err
			}
		}
		return pools.Show(cl, vms), nil
	})
}
