package clustercmd

import (
	"fmt"
	"os"

	"plimsoll/cmd/plimsoll/cli"

	"github.com/spf13/cobra"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/doctor/pools"
	"plimsoll/internal/cluster/policy"
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
			"  plimsoll cluster show --live vsphere://operator@vcenter.example/DC/Cluster --observe 5m --out lab.yaml",
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

func complyCommand(c *cli.Screen) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "comply INVENTORY",
		Short: "check VMs and disks against their storage policies",
		Long: `Check the home and every disk of every VM against its storage policy and the capabilities of
the datastore. An object that cannot be checked, such as a disk on a datastore that the
inventory does not list, is unknown. The exit status is 1 if an object is not compliant.`,
		Example: "  plimsoll cluster comply storage.json\n  plimsoll cluster comply storage.json --json",
		Args:    cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			f, err := os.Open(args[0])
			if err != nil {
				return cli.Mistake(fmt.Errorf("read the inventory: %w", err))
			}
			defer f.Close()
			inventory, err := policy.Read(f)
			if err != nil {
				return cli.Mistake(fmt.Errorf("%s: %w", args[0], err))
			}
			checker, err := policy.New(inventory)
			if err != nil {
				return cli.Mistake(fmt.Errorf("%s: %w", args[0], err))
			}
			if err := c.Tell(checker.Report(), asJSON); err != nil {
				return err
			}
			vms, _ := checker.Counts()
			if vms.Unknown > 0 {
				fmt.Fprintf(c.Err, "plimsoll: note: %d of %d VMs cannot be judged\n", vms.Unknown, vms.All())
			}
			if vms.NonCompliant > 0 {
				return cli.Verdict(fmt.Sprintf("%d of %d VMs do not comply", vms.NonCompliant, vms.All()))
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}
