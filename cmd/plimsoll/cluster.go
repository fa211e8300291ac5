package main

import (
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/snapshot"
)

func (c *command) cluster() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "cluster",
		Short: "place and balance machines on the hosts of a cluster, and say why",
		Long: `Place and balance machines on the hosts of a cluster, and say why of every move and of
every move that is not made. A cluster is read from a snapshot, a YAML or JSON file;
nothing is changed but the files that you name with --out.`,
		Example: "  plimsoll cluster doctor lab.yaml\n  plimsoll cluster why lab.yaml web-1\n  plimsoll cluster balance lab.yaml --out after.yaml",
		Args:    noCommand,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(c.clusterDoctor(), c.clusterBalance(), c.clusterEvacuate(), c.clusterPlace(), c.clusterWhy(), c.clusterWhyNot(), c.clusterShow(), c.clusterSync(), c.clusterWhatIf(), c.clusterReplay(), c.clusterTopology(), c.clusterSCA(), c.clusterComply(), c.clusterGenerate(), c.clusterImport())
	return cmd
}

// readCluster reads a snapshot; "-" is standard input.
func readCluster(name string) (*cluster.Cluster, error) {
	text, err := func() ([]byte, error) {
		if name == "-" {
			return io.ReadAll(os.Stdin)
		}
		return os.ReadFile(name)
	}()
	if err != nil {
		return nil, mistake{fmt.Errorf("read the snapshot: %w", err)}
	}
	cl, err := snapshot.Read(name, text)
	if err != nil {
		return nil, mistake{err}
	}
	return cl, nil
}

// told is anything that can be told to a person or a program.
type told interface{ Text(w io.Writer) error }

func (c *command) tell(t told, asJSON bool) error {
	if asJSON {
		return printJSON(c.out, t)
	}
	return c.folded(t.Text)
}

func findVM(c *cluster.Cluster, name string) (cluster.VMID, error) {
	i := slices.IndexFunc(c.VMs, func(v cluster.VM) bool { return v.Name == name })
	if i < 0 {
		return 0, mistake{fmt.Errorf("the cluster has no machine %q", name)}
	}
	return cluster.VMID(i), nil
}

func findHost(c *cluster.Cluster, name string) (cluster.HostID, error) {
	i := slices.IndexFunc(c.Hosts, func(h cluster.Host) bool { return h.Name == name })
	if i < 0 {
		return 0, mistake{fmt.Errorf("the cluster has no host %q", name)}
	}
	return cluster.HostID(i), nil
}

// writeAfter writes the snapshot as it is once machines have moved.
func writeAfter(name string, c *cluster.Cluster, host func(cluster.VMID) cluster.HostID) error {
	if name == "" {
		return nil
	}
	after := *c
	after.At = "" // nobody saw it so
	after.VMs = slices.Clone(c.VMs)
	for v := range after.VMs {
		if h := host(cluster.VMID(v)); h != cluster.Nowhere {
			after.VMs[v].Host, after.VMs[v].Waiting = h, false
		}
	}
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return mistake{fmt.Errorf("write the snapshot: %w", err)}
	}
	if err := snapshot.Write(f, &after); err != nil {
		_ = f.Close()
		return fmt.Errorf("write the snapshot %s: %w", name, err)
	}
	return f.Close()
}
