package resultscmd

import (
	"bytes"
	"fmt"
	"os"

	"plimsoll/cmd/plimsoll/cli"
	"plimsoll/internal/lab/hciexport"
	"plimsoll/internal/measure/exchange"

	"github.com/spf13/cobra"
)

func (c *commands) export() *cobra.Command {
	var format, file string
	cmd := &cobra.Command{
		Use:   "export DIR --to json|csv|parquet|benchfmt|openmetrics|hcibench",
		Short: "write the records of a run in another format",
		Long: `Write the records of a run in another format: one row per trial and metric as CSV,
JSON or Parquet, or the Go benchmark format for benchstat.

openmetrics has the values of trials with their times, for
"promtool tsdb create-blocks-from openmetrics".

hcibench writes a storage study or an easy run as a folder of HCIBench's results, with a
case per valid trial. It requires --out, and overwrites nothing.`,
		Example:           "  plimsoll export results/a --to csv > a.csv\n  plimsoll export results/a --to parquet --out a.parquet\n  plimsoll export results/easy --to hcibench --out easy-hcibench",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: cli.Folders,
		RunE: func(_ *cobra.Command, args []string) error {
			if format == exchange.Folder {
				return c.exportHCIBench(args[0], file)
			}
			var data bytes.Buffer
			if err := c.lab.Export(&data, args[0], format); err != nil {
				return err
			}
			if file != "" {
				return os.WriteFile(file, data.Bytes(), 0o644)
			}
			_, err := data.WriteTo(c.screen.Raw())
			return err
		},
	}
	cmd.Flags().StringVar(&format, "to", "csv", "`format`: json, csv, parquet, benchfmt, openmetrics or hcibench")
	cli.Complete(cmd, "to", func(string) []string {
		return []string{"json", "csv", "parquet", "benchfmt", "openmetrics", exchange.Folder}
	})
	cmd.Flags().StringVar(&file, "out", "", "output `file` (default: standard output); of hcibench the new folder")
	return cmd
}

func (c *commands) exportHCIBench(dir, out string) error {
	lines, err := hciexport.Export(c.lab, dir, out)
	for _, l := range lines {
		fmt.Fprintln(c.screen.Out, l)
	}
	return err
}
