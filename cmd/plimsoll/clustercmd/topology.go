package clustercmd

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"plimsoll/cmd/plimsoll/cli"

	"github.com/spf13/cobra"

	"plimsoll/internal/cluster/topology"
)

// emitters write an advice for a platform.
var emitters = map[string]func(topology.Advice) (string, error){
	"text": func(a topology.Advice) (string, error) { return a.Text(), nil },
	"vsphere": func(a topology.Advice) (string, error) {
		text, err := json.MarshalIndent(a.VSphere(), "", "  ")
		return string(text), err
	},
	"vmx": func(a topology.Advice) (string, error) { return strings.Join(a.VMX(), "\n"), nil },
	"qemu": func(a topology.Advice) (string, error) {
		args, err := a.QEMU()
		return strings.Join(args, " "), err
	},
	"libvirt": topology.Advice.Libvirt,
}

func topologyCommand(c *clusters) *cobra.Command {
	var asJSON bool
	var emit string
	o, from := topology.Options{}, (*origin)(nil)
	names := []string{"text", "vsphere", "vmx", "qemu", "libvirt"}
	cmd := &cobra.Command{
		Use:   "topology SNAPSHOT [VM]",
		Short: "recommend sockets, cores and NUMA nodes for VMs",
		Long: `Recommend how many sockets, cores per socket and NUMA nodes a VM should have on the hosts
that it may run on, with the reasons. Without a VM, all VMs of the cluster are graded, the
worst first. For one VM, the result can be written for a platform.`,
		Example: "  plimsoll cluster topology lab.yaml\n  plimsoll cluster topology lab.yaml db-1 --emit qemu",
		Args:    cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			cl, rest, err := from.read(cmd.Context(), args)
			if err != nil {
				return err
			}
			write, known := emitters[emit]
			if !known {
				return cli.Mistake(fmt.Errorf("--emit %q: must be one of %s", emit, strings.Join(names, ", ")))
			}
			fleet := topology.Scan(cl, o)
			if len(rest) == 0 {
				if asJSON {
					return cli.PrintJSON(c.Out, fleet)
				}
				return c.Folded(fleet.WriteText)
			}
			v, err := findVM(cl, rest[0])
			if err != nil {
				return err
			}
			i := slices.IndexFunc(fleet.Advices, func(a topology.Advised) bool { return a.ID == v })
			if i < 0 {
				return cli.Mistake(fmt.Errorf("no recommendation for %s: %s", rest[0], unjudged(fleet, rest[0])))
			}
			if asJSON {
				return cli.PrintJSON(c.Out, fleet.Advices[i])
			}
			text, err := write(fleet.Advices[i].Advice)
			if err != nil {
				return cli.Mistake(err)
			}
			_, err = fmt.Fprintln(c.Out, strings.TrimRight(text, "\n"))
			return err
		},
	}
	from = c.origin(cmd)
	f := cmd.Flags()
	f.BoolVar(&asJSON, "json", false, "print JSON")
	f.StringVar(&emit, "emit", "text", "write the result for one VM as "+strings.Join(names, ", "))
	f.BoolVar(&o.PreferHT, "prefer-ht", false, "count threads, not cores")
	f.BoolVar(&o.Strict, "strict", false, "use the least number of nodes, even if it does not divide the vCPUs")
	f.IntVar(&o.VNUMAMin, "vnuma-min", topology.DefaultVNUMAMin, "minimum vCPUs for which virtual NUMA is exposed")
	f.IntVar(&o.MaxSockets, "max-sockets", 0, "maximum number of sockets, for a guest or licence limit; 0 is no limit")
	f.IntVar(&o.MaxCoresPerSocket, "max-cores-per-socket", 0, "maximum number of cores per socket; 0 is no limit")
	f.BoolVar(&o.ExposeOnHotAdd, "expose-on-hot-add", false, "expose virtual NUMA to VMs with CPU hot-add (vSphere 8)")
	return cmd
}

// unjudged is why there is no advice for a VM.
func unjudged(f topology.Fleet, name string) string {
	for _, u := range f.Unjudged {
		if u.Name == name {
			return u.Why
		}
	}
	return "it is unknown"
}
