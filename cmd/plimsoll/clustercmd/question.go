package clustercmd

import (
	"fmt"

	"plimsoll/cmd/plimsoll/cli"

	"github.com/spf13/cobra"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/doctor"
)

func placeCommand(c *clusters) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "place SNAPSHOT [VM...]",
		Short: "choose hosts for waiting VMs, with the reasons against the others",
		Long: `Choose hosts for the named VMs, or for all that wait for one. If no host can run a VM, every
host is listed with the first check that fails. VMs that would have to move are named. The
exit status is 1 if a VM found no host.`,
		Example: "  plimsoll cluster place lab.yaml\n  plimsoll cluster place lab.yaml db-7 --json",
		Args:    cobra.MinimumNArgs(1),
	}
	out := cmd.Flags().String("out", "", "write the snapshot after the placement to a new `file`")
	return answers(c, cmd, func(cl *cluster.Cluster, names []string) (cli.Told, error) {
		var vms []cluster.VMID
		for _, name := range names {
			v, err := findVM(cl, name)
			if err != nil {
				return nil, err
			}
			if cl.VMs[v].Host != cluster.Nowhere {
				return nil, cli.Mistake(fmt.Errorf("VM %s runs on %s already: plimsoll cluster why shows the benefit of a move", name, cl.Hosts[cl.VMs[v].Host].Name))
			}
			vms = append(vms, v)
		}
		placed, layout := doctor.Place(cl, vms)
		if err := writeAfter(*out, cl, layout.Host); err != nil {
			return nil, err
		}
		if n := placed.Failed(); n > 0 {
			return placed, cli.Verdict(fmt.Sprintf("%d of %d VMs found no host", n, len(placed.Choices)))
		}
		return placed, nil
	})
}

func whyCommand(c *clusters) *cobra.Command {
	return answers(c, &cobra.Command{
		Use:     "why SNAPSHOT VM",
		Short:   "explain why a VM runs on its host and not on another",
		Example: "  plimsoll cluster why lab.yaml web-1",
		Args:    cobra.ExactArgs(2),
	}, func(cl *cluster.Cluster, names []string) (cli.Told, error) {
		v, err := findVM(cl, names[0])
		if err != nil {
			return nil, err
		}
		return doctor.Why(cl, v), nil
	})
}

func whyNotCommand(c *clusters) *cobra.Command {
	return answers(c, &cobra.Command{
		Use:     "why-not SNAPSHOT VM HOST",
		Short:   "explain why a VM should not run on a host",
		Example: "  plimsoll cluster why-not lab.yaml web-1 esx-2",
		Args:    cobra.ExactArgs(3),
	}, func(cl *cluster.Cluster, names []string) (cli.Told, error) {
		v, err := findVM(cl, names[0])
		if err != nil {
			return nil, err
		}
		h, err := findHost(cl, names[1])
		if err != nil {
			return nil, err
		}
		return doctor.WhyNot(cl, v, h), nil
	})
}
