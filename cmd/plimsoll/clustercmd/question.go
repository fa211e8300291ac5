package clustercmd

import (
	"fmt"

	"plimsoll/cmd/plimsoll/cli"

	"github.com/spf13/cobra"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/doctor"
)

func placeCommand(c *cli.Screen) *cobra.Command {
	var asJSON bool
	var out string
	cmd := &cobra.Command{
		Use:   "place SNAPSHOT [VM...]",
		Short: "choose hosts for waiting VMs, with the reasons against the others",
		Long: `Choose hosts for the named VMs, or for all that wait for one. If no host can run a VM, every
host is listed with the first check that fails. VMs that would make room are named. The exit
status is 1 when a VM found no host.`,
		Example: "  plimsoll cluster place lab.yaml\n  plimsoll cluster place lab.yaml db-7 --json",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			cl, err := readCluster(args[0])
			if err != nil {
				return err
			}
			var vms []cluster.VMID
			for _, name := range args[1:] {
				v, err := findVM(cl, name)
				if err != nil {
					return err
				}
				if cl.VMs[v].Host != cluster.Nowhere {
					return cli.Mistake(fmt.Errorf("VM %s runs on %s already: plimsoll cluster why says what a move would bring", name, cl.Hosts[cl.VMs[v].Host].Name))
				}
				vms = append(vms, v)
			}
			placed, layout := doctor.Place(cl, vms)
			if err := writeAfter(out, cl, layout.Host); err != nil {
				return err
			}
			if err := c.Tell(placed, asJSON); err != nil {
				return err
			}
			if n := placed.Failed(); n > 0 {
				return cli.Verdict(fmt.Sprintf("%d of %d VMs found no host", n, len(placed.Choices)))
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.Flags().StringVar(&out, "out", "", "write the snapshot after the placement to a new file")
	return cmd
}

func whyCommand(c *cli.Screen) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "why SNAPSHOT VM",
		Short:   "explain why a VM runs on its host and not on another",
		Example: "  plimsoll cluster why lab.yaml web-1",
		Args:    cobra.ExactArgs(2),
		RunE: func(_ *cobra.Command, args []string) error {
			cl, err := readCluster(args[0])
			if err != nil {
				return err
			}
			v, err := findVM(cl, args[1])
			if err != nil {
				return err
			}
			return c.Tell(doctor.Why(cl, v), asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func whyNotCommand(c *cli.Screen) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "why-not SNAPSHOT VM HOST",
		Short:   "list what speaks against a VM on a host",
		Example: "  plimsoll cluster why-not lab.yaml web-1 esx-2",
		Args:    cobra.ExactArgs(3),
		RunE: func(_ *cobra.Command, args []string) error {
			cl, err := readCluster(args[0])
			if err != nil {
				return err
			}
			v, err := findVM(cl, args[1])
			if err != nil {
				return err
			}
			h, err := findHost(cl, args[2])
			if err != nil {
				return err
			}
			return c.Tell(doctor.WhyNot(cl, v, h), asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}
