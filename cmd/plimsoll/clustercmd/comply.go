package clustercmd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"plimsoll/cmd/plimsoll/cli"

	"github.com/spf13/cobra"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/policy"
	"plimsoll/internal/live"
)

func complyCommand(c *clusters) *cobra.Command {
	var asJSON bool
	from := &origin{clusters: c}
	cmd := &cobra.Command{
		Use:   "comply INVENTORY",
		Short: "check VMs and disks against their storage policies",
		Long: `Check the home and every disk of every VM against its storage policy and the capabilities of
the datastore. An object that cannot be checked, such as a disk on a datastore that the
inventory does not list, is unknown. The exit status is 1 if an object is not compliant.

With --live, policies, datastores and VMs are read from a live cluster, and nothing is
changed. With --out, they are saved to a file as an inventory.`,
		Example: "  plimsoll cluster comply storage.json\n  plimsoll cluster comply storage.json --json\n" +
			"  plimsoll cluster comply --live 'vsphere://operator@vcenter.example/DC/Cluster?password=env:VCENTER_PASSWORD' --out storage.json",
		Args: func(cmd *cobra.Command, args []string) error {
			if from.url != "" {
				if len(args) > 0 {
					return errors.New("--live takes the place of INVENTORY")
				}
				return nil
			}
			return cobra.ExactArgs(1)(cmd, args)
		},
	}
	from.flag(cmd)
	cmd.Flags().Lookup("live").Usage = "the `URL` of a live cluster, in place of an inventory; see plimsoll cluster --help"
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	out := cmd.Flags().String("out", "", "write what was read as an inventory to a new `file`")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		inventory, err := from.policies(cmd.Context(), args)
		if err != nil {
			return err
		}
		if *out != "" {
			if err := createInventory(*out, inventory); err != nil {
				return err
			}
		}
		return comply(c.Screen, inventory, asJSON)
	}
	return cmd
}

// comply checks an inventory, and tells the result.
func comply(c *cli.Screen, inventory *policy.Inventory, asJSON bool) error {
	checker, err := policy.New(inventory)
	if err != nil {
		return err
	}
	if err := c.Tell(checker.Report(), asJSON); err != nil {
		return err
	}
	vms, _ := checker.Counts()
	if vms.Unknown > 0 {
		fmt.Fprintf(c.Err, "plimsoll: note: %d of %d VMs cannot be judged\n", vms.Unknown, vms.All())
	}
	if vms.NonCompliant > 0 {
		return cli.Verdict(fmt.Sprintf("%d of %d VMs do not comply", vms.NonCompliant, vms.All()))
	}
	return nil
}

// policies reads the storage policies of an inventory file or of a live cluster.
func (o *origin) policies(ctx context.Context, args []string) (*policy.Inventory, error) {
	if o.url == "" {
		return readInventory(args[0])
	}
	ctx, stop := stoppable(ctx)
	defer stop()
	s, err := o.open(ctx)
	if err != nil {
		return nil, err
	}
	inventory, err := s.policies(ctx)
	return inventory, s.close(err)
}

func readInventory(name string) (*policy.Inventory, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, cli.Mistake(fmt.Errorf("read the inventory: %w", err))
	}
	defer f.Close()
	inventory, err := policy.Read(f)
	if err != nil {
		return nil, cli.Mistake(fmt.Errorf("%s: %w", name, err))
	}
	return inventory, nil
}

// policies reads the storage policies of a live cluster, once the account is known to be allowed to.
func (s *session) policies(ctx context.Context) (*policy.Inventory, error) {
	if s.connection.Policies == nil {
		return nil, cli.Mistake(fmt.Errorf("--live: a %s cluster has no storage policies; comply checks those of vSphere, or an inventory file", s.address.Scheme))
	}
	missing, err := s.connection.Hand.Missing(ctx, live.Comply)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.address, err)
	}
	if len(missing) > 0 {
		return nil, cli.Mistake(fmt.Errorf("the account lacks privileges to read storage policies:\n  %s", strings.Join(missing, "\n  ")))
	}
	inventory, err := s.connection.Policies(ctx)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.address, err)
	}
	return inventory, nil
}

// createInventory writes an inventory to a new file.
func createInventory(name string, inventory *policy.Inventory) error {
	return cli.Create(name, "the inventory", func(w io.Writer) error {
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		return e.Encode(inventory)
	})
}

// addPolicies gives the VMs of a cluster the policies of their homes, so that a snapshot has them.
// Where they cannot be read, it has none.
func (s *session) addPolicies(ctx context.Context, to *cluster.Cluster, screen *cli.Screen) *cluster.Cluster {
	if s.connection.Policies == nil {
		return to
	}
	inventory, err := s.policies(ctx)
	if err != nil {
		fmt.Fprintf(screen.Err, "plimsoll: note: the snapshot has no storage policies: %v\n", err)
		return to
	}
	of := make(map[string]string, len(inventory.VMs))
	for i := range inventory.VMs {
		of[inventory.VMs[i].Name] = inventory.VMs[i].Home.Policy
	}
	made := *to
	made.VMs = slices.Clone(to.VMs)
	for i := range made.VMs {
		made.VMs[i].Policy = of[made.VMs[i].Name]
	}
	return &made
}
