package clustercmd

import (
	"errors"
	"fmt"

	"plimsoll/cmd/plimsoll/cli"

	"github.com/spf13/cobra"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/sca"
)

func scaCommand(c *clusters) *cobra.Command {
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
	}
	cmd.Flags().IntVar(&yield, "yield", sca.DefaultYield, "throughput of a core with both threads busy, per mille of that with one")
	return answers(c, cmd, func(cl *cluster.Cluster, names []string) (cli.Told, error) {
		if yield < 1000 || yield > 2000 {
			return nil, cli.Mistake(fmt.Errorf("--yield %d: must be from 1000 (a second thread adds nothing) to 2000 (it is worth a core)", yield))
		}
		if len(names) == 0 {
			return sca.Look(cl, cluster.Nowhere, yield), nil
		}
		only, err := findHost(cl, names[0])
		if err != nil {
			return nil, err
		}
		report := sca.Look(cl, only, yield)
		if why := report.Kinds[0].Why; why != "" {
			return nil, cli.Mistake(errors.New(names[0] + ": " + why))
		}
		return report, nil
	})
}
