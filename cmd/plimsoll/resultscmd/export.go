package resultscmd

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"os"

	"plimsoll/cmd/plimsoll/cli"
	"plimsoll/internal/lab/hciexport"
	"plimsoll/internal/lab/otlpexport"
	"plimsoll/internal/measure/exchange"
	"plimsoll/internal/otlp"

	"github.com/spf13/cobra"
)

func (c *commands) export() *cobra.Command {
	var format, file string
	cmd := &cobra.Command{
		Use:   "export DIR --to json|csv|parquet|benchfmt|openmetrics|otlp|hcibench",
		Short: "write the records of a run in another format",
		Long: `Write the records of a run in another format: one row per trial and metric as CSV,
JSON or Parquet, or the Go benchmark format for benchstat.

openmetrics has the values of trials with their times, for
"promtool tsdb create-blocks-from openmetrics".

otlp sends the metrics of a run to an OpenTelemetry collector by OTLP over HTTP: to the
URL of --out or OTEL_EXPORTER_OTLP_ENDPOINT, with OTEL_EXPORTER_OTLP_HEADERS.

hcibench writes a storage study or an easy run as a folder of HCIBench's results, with a
case per valid trial. It requires --out, and overwrites nothing.`,
		Example:           "  plimsoll export results/a --to csv > a.csv\n  plimsoll export results/a --to parquet --out a.parquet\n  plimsoll export results/a --to otlp --out http://localhost:4318\n  plimsoll export results/easy --to hcibench --out easy-hcibench",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: cli.Folders,
		RunE: func(cmd *cobra.Command, args []string) error {
			switch format {
			case exchange.HCIBench:
				return c.exportHCIBench(args[0], file)
			case exchange.OTLP:
				return c.send(cmd.Context(), args[0], file)
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
	cmd.Flags().StringVar(&format, "to", "csv", "`format`: json, csv, parquet, benchfmt, openmetrics, otlp or hcibench")
	cli.Complete(cmd, "to", func(string) []string {
		return []string{"json", "csv", "parquet", "benchfmt", "openmetrics", exchange.OTLP, exchange.HCIBench}
	})
	cmd.Flags().StringVar(&file, "out", "", "output `file` (default: standard output); of otlp the collector's URL, of hcibench the new folder")
	return cmd
}

// send sends the metrics of a run to a collector.
func (c *commands) send(ctx context.Context, dir, address string) error {
	collector, err := otlp.NewClient(address, os.Getenv)
	if err != nil {
		return cli.Mistake(err)
	}
	o, err := otlpexport.Send(ctx, c.lab, dir, collector)
	if err != nil {
		return err
	}
	fmt.Fprintf(c.screen.Out, "%d data points sent to %s\n", o.Sent, collector.Address())
	switch {
	case o.Rejected > 0:
		return fmt.Errorf("the collector rejected %d of them: %q", o.Rejected, cmp.Or(o.Message, "no reason given"))
	case o.Message != "":
		fmt.Fprintf(c.screen.Err, "plimsoll: the collector warns: %q\n", o.Message)
	}
	return nil
}

func (c *commands) exportHCIBench(dir, out string) error {
	lines, err := hciexport.Export(c.lab, dir, out)
	for _, l := range lines {
		fmt.Fprintln(c.screen.Out, l)
	}
	return err
}
