package clustercmd

import (
	"context"
	"encoding/json"
	"errors"
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
	var emit string
	o := topology.Options{}
	r := &reshaper{options: &o, hand: &hand{parallel: 1}}
	names := []string{"text", "vsphere", "vmx", "qemu", "libvirt"}
	cmd := &cobra.Command{
		Use:   "topology SNAPSHOT [VM]",
		Short: "recommend sockets, cores and NUMA nodes for VMs",
		Long: `Recommend how many sockets, cores per socket and NUMA nodes a VM should have on the hosts
that it may run on, with the reasons. Without a VM, all VMs of the cluster are graded, the
worst first. For one VM, the result can be written for a platform.

For a live cluster, changes of VM settings are listed as well. With --apply, those of
powered-off VMs are made, one after the other, with a journal for undo. A running VM is never
powered off: its change is listed, and made by a later --apply.`,
		Example: "  plimsoll cluster topology lab.yaml\n  plimsoll cluster topology lab.yaml db-1 --emit qemu\n  plimsoll cluster topology --live 'vsphere://operator@vcenter.example/DC/Cluster?password=env:VCENTER_PASSWORD' --apply",
		Args:    cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			write, known := emitters[emit]
			if !known {
				return cli.Mistake(fmt.Errorf("--emit %q: must be one of %s", emit, strings.Join(names, ", ")))
			}
			if all := len(args) == 0 || len(args) == 1 && r.hand.from.url == ""; cmd.Flags().Changed("emit") && (all || r.hand.apply) {
				return cli.Mistake(errors.New("--emit writes the result for one VM: name it, and leave out --apply"))
			}
			if r.hand.from.url != "" && (len(args) == 0 || r.hand.apply) {
				return r.live(cmd.Context(), args)
			}
			return r.tell(cmd.Context(), args, write)
		},
	}
	r.hand.from = c.origin(cmd)
	r.flags(cmd)
	f := cmd.Flags()
	f.StringVar(&emit, "emit", "text", "write the result for one VM as "+strings.Join(names, ", "))
	f.BoolVar(&o.PreferHT, "prefer-ht", false, "count threads, not cores")
	f.BoolVar(&o.Strict, "strict", false, "use the minimum number of nodes, even if it does not divide the vCPUs")
	f.IntVar(&o.VNUMAMin, "vnuma-min", topology.DefaultVNUMAMin, "minimum vCPUs for which virtual NUMA is exposed")
	f.IntVar(&o.MaxSockets, "max-sockets", 0, "maximum number of sockets, for a guest or licence limit; 0 is no limit")
	f.IntVar(&o.MaxCoresPerSocket, "max-cores-per-socket", 0, "maximum number of cores per socket; 0 is no limit")
	f.BoolVar(&o.ExposeOnHotAdd, "expose-on-hot-add", false, "expose virtual NUMA to VMs with CPU hot-add (vSphere 8)")
	return cmd
}

// tell tells the advice for all VMs, or for one as it is written for a platform.
func (r *reshaper) tell(ctx context.Context, args []string, write func(topology.Advice) (string, error)) error {
	c := r.hand.from.clusters
	cl, rest, err := r.hand.from.read(ctx, args)
	if err != nil {
		return err
	}
	fleet := r.scan(cl)
	if len(rest) == 0 {
		if r.hand.asJSON {
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
	if r.hand.asJSON {
		return cli.PrintJSON(c.Out, fleet.Advices[i])
	}
	text, err := write(fleet.Advices[i].Advice)
	if err != nil {
		return cli.Mistake(err)
	}
	_, err = fmt.Fprintln(c.Out, strings.TrimRight(text, "\n"))
	return err
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
