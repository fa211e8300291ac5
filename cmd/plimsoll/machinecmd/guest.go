package machinecmd

import (
	"github.com/spf13/cobra"

	"plimsoll/cmd/plimsoll/cli"

	"plimsoll/internal/guest/kernel"
)

func (c *commands) guest() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "guest",
		Short: "kernel, images and protection of virtual machines",
		Long: `Fetch the kernel that the virtual machines of a study boot, build boot images that
contain only plimsoll's agent and the kernel modules it requires. Show the checkpoints
of virtual machines that have a standby.`,
		Example: "  plimsoll guest kernel\n  plimsoll guest image --format qcow2 --out guest.qcow2\n  plimsoll guest protect ft-fast-checkpoint",
		Args:    cli.NoCommand,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(c.guestKernel(), c.guestImage())
	cmd.AddCommand(c.guests...)
	return cmd
}

// kernelChoice holds the flags by which a kernel is chosen.
type kernelChoice struct{ dir, image, modules string }

func (k *kernelChoice) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&k.dir, "dir", "", "`folder` of fetched kernels (default: plimsoll in the user's cache)")
	f.StringVar(&k.image, "kernel", "", "custom kernel: a bzImage, or an ELF `file` with the PVH note")
	f.StringVar(&k.modules, "modules", "", "`folder` of its modules, lib/modules/VERSION; empty if all are built in")
}

// folder is where fetched kernels are.
func (k *kernelChoice) folder() (string, error) {
	if k.dir != "" {
		return k.dir, nil
	}
	return kernel.Folder()
}
