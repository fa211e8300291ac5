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
	cmd := &cobra.Command{
		Use:   "sca SNAPSHOT [HOST]",
		Short: "estimate host capacity under side-channel-aware scheduling",
		Long: `Estimate how much capacity a host keeps under the default CPU scheduler, SCAv1
and SCAv2, for the VMs that run there. HOST selects one host; without it, every
kind of host is estimated. SCAv1 and SCAv2 keep VMs from sharing a core's
threads. This is a model (docs/cluster/sca.md); measured losses correct it.`,
		Example: "  plimsoll cluster sca lab.yaml\n  plimsoll cluster sca lab.yaml esx-1 --yield 1250\n" +
			"  plimsoll cluster sca lab.yaml --loss scav1@100%=22% --loss scav1@75%=4% --loss scav2@100%=3%",
		Args: cobra.RangeArgs(1, 2),
	}
	yield := cmd.Flags().Int("yield", sca.DefaultYield, "throughput of a core with both threads busy, per mille of that with one")
	losses := cmd.Flags().StringArray("loss", nil, "loss measured at a load, POLICY@LOAD=LOSS; 100% is saturation; repeatable")
	return answers(c, cmd, func(cl *cluster.Cluster, names []string) (cli.Told, error) {
		model, err := sca.NewModel(*yield, *losses)
		if err != nil {
			return nil, cli.Mistake(fmt.Errorf("estimate the capacity: %w", err))
		}
		if len(names) == 0 {
			return sca.Look(cl, cluster.Nowhere, model), nil
		}
		only, err := findHost(cl, names[0])
		if err != nil {
			return nil, err
		}
		report := sca.Look(cl, only, model)
		if why := report.Kinds[0].Why; why != "" {
			return nil, cli.Mistake(errors.New(names[0] + ": " + why))
		}
		return report, nil
	})
}
