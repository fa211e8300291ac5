package machinecmd

import (
	"context"
	"errors"
	"fmt"
	"text/tabwriter"

	"plimsoll/cmd/plimsoll/cli"

	"github.com/spf13/cobra"

	"plimsoll/internal/guest/kernel"
)

func (c *commands) guestKernel() *cobra.Command {
	var asJSON bool
	var choice kernelChoice
	var name string
	cmd := &cobra.Command{
		Use:   "kernel",
		Short: "fetch the distribution's kernel for virtual machines",
		Long: `Fetch the distribution's kernel for virtual machines, unpack it into a folder, and
print its version and path. apt downloads and verifies the packages. Nothing is installed,
and root is not required. A kernel that is already in the folder is not fetched again.`,
		Example: "  plimsoll guest kernel\n  plimsoll guest kernel --package linux-image-amd64 --json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			dir, err := choice.folder()
			if err != nil {
				return err
			}
			fetch := kernel.Fetch
			if name != "" {
				fetch = func(ctx context.Context, dir string) (*kernel.Kernel, error) {
					return kernel.FetchPackage(ctx, dir, name)
				}
			}
			k, err := fetch(cmd.Context(), dir)
			if err != nil {
				return err
			}
			if asJSON {
				return cli.PrintJSON(c.screen.Out, k)
			}
			table := tabwriter.NewWriter(c.screen.Out, 0, 0, 2, ' ', 0)
			entry := "packed, unpacked by the guest"
			if k.PVH {
				entry = "plain, entered directly (PVH)"
			}
			for _, row := range [][2]string{
				{"version", k.Version}, {"package", k.Package + " " + k.PackageVersion}, {"image", k.Image},
				{"kind", entry}, {"sha256", k.Digest}, {"modules", k.Modules},
			} {
				fmt.Fprintf(table, "%s\t%s\n", row[0], row[1])
			}
			return table.Flush()
		},
	}
	f := cmd.Flags()
	f.StringVar(&choice.dir, "dir", "", "`folder` for the kernel (default: plimsoll in the user's cache)")
	f.StringVar(&name, "package", "", "kernel `package`, such as linux-image-amd64, which has more drivers")
	f.BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// kernel returns the chosen kernel, and fetches the distribution's if there is none yet.
func (c *commands) kernel(ctx context.Context, choice *kernelChoice) (*kernel.Kernel, error) {
	if choice.image != "" {
		k, err := kernel.Open(choice.image, choice.modules)
		if err != nil {
			return nil, cli.Mistake(err)
		}
		return k, nil
	}
	if choice.modules != "" {
		return nil, cli.Mistake(errors.New("--modules requires --kernel"))
	}
	dir, err := choice.folder()
	if err != nil {
		return nil, err
	}
	k, err := kernel.Find(dir)
	if errors.Is(err, kernel.ErrNone) {
		fmt.Fprintf(c.screen.Err, "no kernel yet: fetching the distribution's into %s\n", dir)
		return kernel.Fetch(ctx, dir)
	}
	return k, err
}
