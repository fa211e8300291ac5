package resultscmd

import (
	"fmt"

	"github.com/spf13/cobra"
)

func (c *commands) importResults() *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use:   "import FILE... --out DIR",
		Short: "turn access specifications of Iometer into studies",
		Long: `Turn Iometer configuration files (.icf) into studies: one for each of their access
specifications. Results of fio and HCIBench need no import: plimsoll compare reads
them where they lie.`,
		Example: "  plimsoll import iometer.icf --out studies",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			lines, err := c.lab.Import(args, dir)
			for _, l := range lines {
				fmt.Fprintln(c.screen.Out, l)
			}
			return err
		},
	}
	cmd.Flags().StringVar(&dir, "out", "", "`folder` to write")
	return cmd
}
