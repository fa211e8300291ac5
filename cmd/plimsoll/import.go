package main

import (
	"fmt"

	"github.com/spf13/cobra"
)

func (c *command) importResults() *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use:   "import FILE... --out DIR",
		Short: "bring in results of fio or HCIBench as a results folder, or Iometer specs as studies",
		Long: `Bring in results of other tools: fio JSON files, or a folder of HCIBench results.
They become a results folder that compare, report and export read. An Iometer
.icf file becomes one study for each of its access specifications.`,
		Example: "  plimsoll import before-1.json before-2.json --out results/before\n  plimsoll import iometer.icf --out studies",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			lines, err := c.lab.Import(args, dir)
			for _, l := range lines {
				fmt.Fprintln(c.out, l)
			}
			return err
		},
	}
	cmd.Flags().StringVar(&dir, "out", "", "`folder` to write")
	return cmd
}
