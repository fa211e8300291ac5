package resultscmd

import (
	"bytes"
	"os"

	"plimsoll/cmd/plimsoll/cli"

	"github.com/spf13/cobra"
)

func (c *commands) export() *cobra.Command {
	var format, file string
	cmd := &cobra.Command{
		Use:   "export DIR --to json|csv|parquet|benchfmt",
		Short: "write the records of a run in another format",
		Long: `Write the records of a run in another format: one row per trial and metric as CSV,
JSON or Parquet, or the Go benchmark format for benchstat.`,
		Example:           "  plimsoll export results/a --to csv > a.csv\n  plimsoll export results/a --to parquet --out a.parquet",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: cli.Folders,
		RunE: func(_ *cobra.Command, args []string) error {
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
	cmd.Flags().StringVar(&format, "to", "csv", "`format`: json, csv, parquet or benchfmt")
	cli.Complete(cmd, "to", func(string) []string { return []string{"json", "csv", "parquet", "benchfmt"} })
	cmd.Flags().StringVar(&file, "out", "", "output `file` (default: standard output)")
	return cmd
}
