package main

import (
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"plimsoll/internal/lab"
)

func (c *command) studies() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "studies",
		Short:   "list the built-in studies",
		Example: "  plimsoll studies\n  plimsoll studies --json",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			type line struct {
				Study    string `json:"study"`
				Platform string `json:"platform"`
				Workload string `json:"workload"`
				Question string `json:"question"`
			}
			var lines []line
			for _, name := range lab.Names() {
				source, err := c.lab.Read(name, nil)
				if err != nil {
					return err
				}
				s := source.Study
				lines = append(lines, line{name, s.Platform.Kind, s.Workload.Kind, s.Question})
			}
			if asJSON {
				return printJSON(c.out, lines)
			}
			table := tabwriter.NewWriter(c.out, 0, 0, 2, ' ', 0)
			fmt.Fprintln(table, "STUDY\tPLATFORM\tWORKLOAD\tQUESTION")
			for _, l := range lines {
				fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", l.Study, l.Platform, l.Workload, l.Question)
			}
			return table.Flush()
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func printJSON(w io.Writer, value any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(value)
}
