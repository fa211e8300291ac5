package clustercmd

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"plimsoll/cmd/plimsoll/cli"

	"github.com/spf13/cobra"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/generate"
	"plimsoll/internal/cluster/snapshot"
)

func generateCommand(c *cli.Screen) *cobra.Command {
	var asJSON bool
	var out string
	s := generate.Typical(16, 1)
	cmd := &cobra.Command{
		Use:   "generate",
		Short: "generate a cluster from a seed",
		Long: `Generate a cluster and write its snapshot to standard output, or with --out to a new file,
as JSON if its name ends in .json. The same seed gives the same bytes. The default numbers
of VMs, pools and rules depend on the number of hosts.`,
		Example: "  plimsoll cluster generate --hosts 64 --seed 7 --out lab.yaml\n  plimsoll cluster generate --load 80 --skew 40 | plimsoll cluster doctor -",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s := typicalUnlessSaid(s, cmd.Flags().Changed)
			if s.Load == 0 {
				return cli.Mistake(errors.New("load 0 is out of range: 1 to 100"))
			}
			if err := s.Validate(); err != nil {
				return cli.Mistake(err)
			}
			made, load := generate.Cluster(s)
			noteShort(c, s, load, made)
			if out == "" {
				return writeSnapshot(c.Raw(), made, asJSON)
			}
			if err := createSnapshot(out, made, asJSON || strings.HasSuffix(out, ".json")); err != nil {
				return err
			}
			fmt.Fprintf(c.Out, "wrote %s: %d hosts, %d VMs, %d pools, %d rules\n", out, len(made.Hosts), len(made.VMs), len(made.Pools)-1, len(made.Rules))
			return nil
		},
	}
	f := cmd.Flags()
	f.IntVar(&s.Hosts, "hosts", s.Hosts, "number of hosts")
	f.IntVar(&s.VMs, "vms", s.VMs, "number of VMs; default 16 per host")
	f.IntVar(&s.Waiting, "waiting", 0, "number of VMs that wait for a host")
	f.IntVar(&s.Pools, "pools", s.Pools, "number of resource pools; default 2, and one for every 4 hosts")
	f.IntVar(&s.Rules, "rules", s.Rules, "maximum number of rules; default one per host")
	f.IntVar(&s.Load, "load", s.Load, "mean CPU demand over a week, in percent of the capacity")
	f.IntVar(&s.Skew, "skew", s.Skew, "percentage of the VMs that run on the first fifth of the hosts")
	f.Int64Var(&s.Minute, "minute", s.Minute, "minute of the snapshot; 0 is midnight before Monday")
	f.BoolVar(&s.Mixed, "mixed", false, "hosts of three generations")
	f.Uint64Var(&s.Seed, "seed", s.Seed, "random seed")
	f.StringVar(&out, "out", "", "write the snapshot to a new `file`")
	f.BoolVar(&asJSON, "json", false, "write JSON")
	return cmd
}

// typicalUnlessSaid has what goes with the number of hosts do so.
func typicalUnlessSaid(s generate.Spec, said func(flag string) bool) generate.Spec {
	typical := generate.Typical(s.Hosts, s.Seed)
	if !said("vms") {
		s.VMs = typical.VMs
	}
	if !said("pools") {
		s.Pools = typical.Pools
	}
	if !said("rules") {
		s.Rules = typical.Rules
	}
	return s
}

// noteShort says where a cluster is not what was asked for, and could not be.
func noteShort(c *cli.Screen, s generate.Spec, load int, made *cluster.Cluster) {
	if load < s.Load-1 {
		fmt.Fprintf(c.Err, "plimsoll: note: with %d VMs the load is at most %d %%, not %d %%\n", s.VMs, load, s.Load)
	}
	nowhere := 0
	for i := range made.VMs {
		if v := &made.VMs[i]; v.Host == cluster.Nowhere && !v.Waiting {
			nowhere++
		}
	}
	if nowhere > 0 {
		fmt.Fprintf(c.Err, "plimsoll: note: %d VMs found no host and are off\n", nowhere)
	}
}

func writeSnapshot(w io.Writer, c *cluster.Cluster, asJSON bool) error {
	if asJSON {
		return snapshot.WriteJSON(w, c)
	}
	return snapshot.Write(w, c)
}

// createSnapshot writes a new file, or leaves none.
func createSnapshot(name string, c *cluster.Cluster, asJSON bool) error {
	return cli.Create(name, "the snapshot", func(w io.Writer) error { return writeSnapshot(w, c, asJSON) })
}
