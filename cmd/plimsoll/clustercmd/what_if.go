package clustercmd

import (
	"fmt"
	"strings"

	"plimsoll/cmd/plimsoll/cli"

	"github.com/spf13/cobra"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/doctor/whatif"
)

func whatIfCommand(c *clusters) *cobra.Command {
	var free bool
	var change whatif.Change
	var entitle string
	cmd := &cobra.Command{
		Use:   "what-if SNAPSHOT",
		Short: "compare a round with the one after a change",
		Long: `Compare the next round with the one after a change: another level or headroom, dropped rules,
settings of VMs and pools, hosts failed, in maintenance, returned or added.

With --entitle VM=AMOUNT, find the smallest changes of shares, reservations and limits that
entitle the VM to the amount, with the commands for them and their cost to others.`,
		Example: "  plimsoll cluster what-if lab.yaml --fail esx-2\n  plimsoll cluster what-if lab.yaml --level 5 --drop-rule db-apart\n" +
			"  plimsoll cluster what-if lab.yaml --set db-1.cpu.reservation=8GHz --set pool:tests.cpu.limit=none\n" +
			"  plimsoll cluster what-if lab.yaml --add-host esx-9=esx-1\n  plimsoll cluster what-if lab.yaml --entitle db-1=12GHz",
		Args: cobra.ExactArgs(1),
	}
	f := cmd.Flags()
	f.IntVar(&change.Level, "level", 0, "level, 1 to 5")
	f.StringVar(&change.Headroom, "headroom", "", "`share` of each host to keep free, such as 5%")
	f.BoolVar(&free, "ignore-cost", false, "ignore the cost of moves")
	f.StringSliceVar(&change.DropRules, "drop-rule", nil, "`rule` to disable; may be repeated")
	f.BoolVar(&change.DropAll, "drop-rules", false, "disable all rules")
	f.StringArrayVar(&change.Set, "set", nil, "setting of a VM or pool: NAME.cpu.shares=4000, pool:NAME.memory.limit=none")
	f.StringSliceVar(&change.Fail, "fail", nil, "`host` that has failed; may be repeated")
	f.StringSliceVar(&change.Maintain, "maintain", nil, "`host` in maintenance; may be repeated")
	f.StringSliceVar(&change.Return, "return", nil, "`host` to return to service; may be repeated")
	f.StringSliceVar(&change.AddHosts, "add-host", nil, "add a host with the properties of another: NEW=LIKE")
	f.StringVar(&entitle, "entitle", "", "find the smallest changes that entitle a VM to an amount: VM=6GHz or VM=8GiB")
	return answers(c, cmd, func(cl *cluster.Cluster, _ []string) (cli.Told, error) {
		if f.Changed("ignore-cost") {
			change.CostBenefit = new(!free)
		}
		if entitle != "" {
			return findEntitlement(cl, change, entitle)
		}
		compared, err := whatif.Compare(cl, change)
		if err != nil {
			return nil, cli.Mistake(err)
		}
		return compared, nil
	})
}

// findEntitlement looks for ways to an entitlement in a cluster as it would be after a
// change.
func findEntitlement(cl *cluster.Cluster, change whatif.Change, entitle string) (cli.Told, error) {
	then, err := whatif.WithChange(cl, change)
	if err != nil {
		return nil, cli.Mistake(err)
	}
	i := strings.LastIndex(entitle, "=")
	if i < 0 {
		return nil, cli.Mistake(fmt.Errorf("--entitle %q: must be VM=AMOUNT, such as db-1=6GHz", entitle))
	}
	v, err := findVM(then, entitle[:i])
	if err != nil {
		return nil, err
	}
	resource, amount, err := whatif.ParseAmount(entitle[i+1:])
	if err != nil {
		return nil, cli.Mistake(fmt.Errorf("--entitle %w", err))
	}
	found, err := whatif.FindEntitlement(then, v, resource, amount)
	if err != nil {
		return nil, cli.Mistake(err)
	}
	return found, nil
}
