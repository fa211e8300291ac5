package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"plimsoll/cmd/plimsoll/cli"
	"plimsoll/internal/finding/schema"
	"plimsoll/internal/study/describe"
)

func (c *command) schema() *cobra.Command {
	kinds := []string{"study", "findings"}
	return &cobra.Command{
		Use:   "schema [study|findings]",
		Short: "print the JSON Schema of a study file, for editors, or of findings",
		Long: `Print the JSON Schema of a study file, for editors, or of findings.json and of what
commands print with --json. The schema of findings has the number of their format.`,
		Example:   "  plimsoll schema > plimsoll.schema.json\n  plimsoll schema findings > findings.schema.json",
		Args:      cobra.MaximumNArgs(1),
		ValidArgs: kinds,
		RunE: func(_ *cobra.Command, args []string) error {
			text := []byte(schema.Findings)
			switch {
			case len(args) == 0 || args[0] == kinds[0]:
				var err error
				if text, err = describe.Schema(c.lab.Catalog); err != nil {
					return err
				}
			case args[0] != kinds[1]:
				return cli.Mistake(fmt.Errorf("no schema of %q: there is one of a study, and one of findings", args[0]))
			}
			_, err := c.screen.Out.Write(text)
			return err
		},
	}
}
