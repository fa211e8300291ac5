package clustercmd

import (
	"fmt"

	"plimsoll/cmd/plimsoll/cli"

	"github.com/spf13/cobra"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/doctor"
	"plimsoll/internal/live"
	"plimsoll/internal/live/apply"
)

func placeCommand(c *clusters) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "place SNAPSHOT [VM...]",
		Short: "choose hosts for VMs that are off or wait for one, with the reasons against the others",
		Long: `Choose hosts for the named VMs, or for all that wait for one. If no host can run a VM, every
host is listed with the first check that fails. VMs that would have to move are named. The
exit status is 1 if a VM found no host.

With --live and --apply, placed VMs are powered on after the moves that make room for them.
Undo shuts down their guests.`,
		Example: "  plimsoll cluster place lab.yaml\n  plimsoll cluster place lab.yaml db-7 --json\n" +
			"  plimsoll cluster place db-7 db-8 --live 'vsphere://operator@vcenter.example/DC/Cluster?password=env:VCENTER_PASSWORD' --apply",
		Args: cobra.MinimumNArgs(1),
	}
	out := cmd.Flags().String("out", "", "write the snapshot after the placement to a new `file`")
	h := c.hand(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return h.planned(cmd.Context(), args, func(cl *cluster.Cluster, names []string) (outline, error) {
			return placed(cl, names, *out)
		})
	}
	return cmd
}

// placed chooses hosts for the named VMs.
func placed(cl *cluster.Cluster, names []string, out string) (o outline, err error) {
	var vms []cluster.VMID
	for _, name := range names {
		v, err := findVM(cl, name)
		if err != nil {
			return o, err
		}
		if cl.VMs[v].Host != cluster.Nowhere {
			return o, cli.Mistake(fmt.Errorf("VM %s runs on %s already: plimsoll cluster why shows the benefit of a move", name, cl.Hosts[cl.VMs[v].Host].Name))
		}
		vms = append(vms, v)
	}
	p, layout := doctor.Place(cl, vms)
	if err := writeAfter(out, cl, layout.Host); err != nil {
		return o, err
	}
	o = outline{plan: p, changes: starts(p)}
	if n := p.Failed(); n > 0 {
		o.verdict = cli.Verdict(fmt.Sprintf("%d of %d VMs found no host", n, len(p.Choices)))
	}
	return o, nil
}

// starts are the changes that carry a placement out: a step for each VM, with the moves that make
// room for it.
func starts(p *doctor.Placement) (list []apply.Change) {
	add := func(c apply.Change) {
		c.Number = len(list) + 1
		list = append(list, c)
	}
	for i, one := range p.Choices {
		if one.Host == "" {
			continue
		}
		for _, r := range one.Before {
			add(apply.Change{Action: live.Move, Step: i + 1, VM: r.VM, From: r.From, To: r.To})
		}
		add(apply.Change{Action: live.Power, Step: i + 1, VM: one.VM, To: one.Host})
	}
	return list
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
