package resultscmd

import (
	"fmt"

	"github.com/spf13/cobra"
)

func (c *commands) importResults() *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use:   "import FILE... --out DIR",
		Short: "convert Iometer and HCIBench configurations to studies",
		Long: `Convert Iometer configuration files (.icf) to studies, one per access specification,
and parameter files of HCIBench, one per file. With HCIBench's configuration
(perf-conf.yaml, or hcibench.cfg of a case) they run on guests like its VMs; VM groups
become one study. Addresses and accounts are not taken over.
Results of fio and HCIBench need no import: plimsoll compare reads them directly.`,
		Example: "  plimsoll import iometer.icf --out studies\n  plimsoll import perf-conf.yaml fio-param-files/* --out studies",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			lines, err := c.lab.Import(args, dir)
			for _, l := range lines {
				fmt.Fprintln(c.screen.Out, l)
			}
			return err
		},
	}
	cmd.Flags().StringVar(&dir, "out", "", "`folder` for the studies")
	return cmd
}
