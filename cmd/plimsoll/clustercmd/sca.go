package clustercmd

import (
	"errors"
	"fmt"

	"plimsoll/cmd/plimsoll/cli"

	"github.com/spf13/cobra"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/sca"
)

func scaCommand(c *cli.Screen) *cobra.Command {
	var asJSON bool
	var yield int
	cmd := &cobra.Command{
		Use:   "sca SNAPSHOT [HOST]",
		Short: "estimate host capacity under side-channel-aware scheduling",
		Long: `Estimate how much capacity a host keeps under the default CPU scheduler, SCAv1
and SCAv2, for the VMs that run there. HOST selects one host; without it, every
kind of host is estimated. SCAv1 and SCAv2 keep VMs from sharing a core's
threads. This is a model; docs/cluster/sca.md describes it.`,
		Example: "  plimsoll cluster sca lab.yaml\n  plimsoll cluster sca lab.yaml esx-1 --yield 1250",
		Args:    cobra.RangeArgs(1, 2),
		RunE: func(_ *cobra.Command, args []string) error {
			if yield < 1000 || yield > 2000 {
				return cli.Mistake(fmt.Errorf("--yield %d: must be from 1000 (a second thread adds nothing) to 2000 (it is worth a core)", yield))
			}
			cl, err := readCluster(args[0])
			if err != nil {
				return err
			}
			only := cluster.HostID(cluster.Nowhere)
			if len(args) == 2 {
				if only, err = findHost(cl, args[1]); err != nil {
					return err
				}
			}
			report := sca.Look(cl, only, yield)
			if only != cluster.Nowhere && report.Kinds[0].Why != "" {
				return cli.Mistake(errors.New(args[1] + ": " + report.Kinds[0].Why))
			}
			return c.Tell(report, asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.Flags().IntVar(&yield, "yield", sca.DefaultYield, "throughput of a core with both threads busy, per mille of that with one")
	return cmd
}
