// Package clustercmd has the commands about clusters: each reads a snapshot or a live cluster. With
// --apply, and to undo that, it changes a live cluster; otherwise nothing but the files that it is
// told to write.
package clustercmd

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"slices"
	"strings"

	"plimsoll/cmd/plimsoll/cli"

	"github.com/spf13/cobra"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/snapshot"
	"plimsoll/internal/live"
	"plimsoll/internal/parameter"
)

// clusters is where commands print, and the kinds of live clusters that they may reach.
type clusters struct {
	*cli.Screen
	kinds []live.Kind
}

// Command is "plimsoll cluster", for some kinds of live clusters.
func Command(screen *cli.Screen, kinds []live.Kind) *cobra.Command {
	c := &clusters{screen, kinds}
	cmd := &cobra.Command{
		Use:   "cluster",
		Short: "place and balance VMs on the hosts of a cluster, with reasons",
		Long: `Place and balance VMs on the hosts of a cluster, with the reason for every move and for
every rejected move. The cluster is a snapshot, a YAML or JSON file, or with --live a live
cluster. Only --apply and undo change a live cluster.

` + addresses(kinds),
		Example: "  plimsoll cluster doctor lab.yaml\n  plimsoll cluster why lab.yaml web-1\n  plimsoll cluster balance lab.yaml --out after.yaml\n" +
			"  plimsoll cluster doctor --live 'vsphere://operator@vcenter.example/DC/Cluster?password=file:/run/secrets/vcenter'",
		Args: cli.NoCommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(doctorCommand(c), balanceCommand(c), evacuateCommand(c), undoCommand(c), watchCommand(c), placeCommand(c), whyCommand(c), whyNotCommand(c), showCommand(c), syncCommand(screen), whatIfCommand(c), replayCommand(screen), topologyCommand(c), scaCommand(c), complyCommand(c), generateCommand(screen), importCommand(screen))
	return cmd
}

// readCluster reads a snapshot; "-" is standard input.
func readCluster(name string) (*cluster.Cluster, error) {
	if strings.Contains(name, "://") { // it may hold a password
		return nil, cli.Mistake(errors.New("SNAPSHOT is a file: give the URL of a live cluster by --live"))
	}
	text, err := func() ([]byte, error) {
		if name == "-" {
			return io.ReadAll(os.Stdin)
		}
		return os.ReadFile(name)
	}()
	if err != nil {
		return nil, cli.Mistake(fmt.Errorf("read the snapshot: %w", err))
	}
	spendMemory(len(text))
	cl, err := snapshot.Read(name, text)
	if err != nil {
		return nil, cli.Mistake(err)
	}
	return cl, nil
}

// answers completes a command about one cluster: a snapshot, its first argument, or a live one. Its
// answer is told, and the error beside it is a verdict.
func answers(c *clusters, cmd *cobra.Command, answer func(cl *cluster.Cluster, args []string) (cli.Told, error)) *cobra.Command {
	asJSON := cmd.Flags().Bool("json", false, "print JSON")
	from := c.origin(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		cl, rest, err := from.read(cmd.Context(), args)
		if err != nil {
			return err
		}
		told, verdict := answer(cl, rest)
		if told == nil {
			return verdict
		}
		if err := c.Tell(told, *asJSON); err != nil {
			return err
		}
		return verdict
	}
	return cmd
}

// spendMemory lets a command use several times the size of its snapshot, so that less CPU time
// goes into garbage collection: with 35,000 VMs an eighth less, and a tenth more memory.
func spendMemory(snapshot int) {
	const (
		collections = 200 // percent
		perByte     = 7
		least       = 64 << 20
	)
	debug.SetGCPercent(collections)
	debug.SetMemoryLimit(max(least, perByte*int64(snapshot)))
}

func findVM(c *cluster.Cluster, name string) (cluster.VMID, error) {
	i := slices.IndexFunc(c.VMs, func(v cluster.VM) bool { return v.Name == name })
	if i < 0 {
		return 0, none("VM", name, len(c.VMs), func(i int) string { return c.VMs[i].Name })
	}
	return cluster.VMID(i), nil
}

func findHost(c *cluster.Cluster, name string) (cluster.HostID, error) {
	i := slices.IndexFunc(c.Hosts, func(h cluster.Host) bool { return h.Name == name })
	if i < 0 {
		return 0, none("host", name, len(c.Hosts), func(i int) string { return c.Hosts[i].Name })
	}
	return cluster.HostID(i), nil
}

// none is the mistake of a name that none of n objects has.
func none(kind, name string, n int, called func(int) string) error {
	text, names := fmt.Sprintf("the cluster has no %s %q", kind, name), make([]string, n)
	for i := range names {
		names[i] = called(i)
	}
	if near := parameter.Nearest(name, names); near != "" {
		text += fmt.Sprintf("; did you mean %q?", near)
	}
	return cli.Mistake(errors.New(text))
}

// writeAfter writes the snapshot as it is once VMs have moved.
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
	return createSnapshot(name, &after, false)
}
