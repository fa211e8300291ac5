package main

import (
	"github.com/spf13/cobra"

	"plimsoll/internal/study/describe"
)

func (c *command) schema() *cobra.Command {
	return &cobra.Command{
		Use:     "schema",
		Short:   "print the JSON Schema of a study file, for editors",
		Example: "  plimsoll schema > plimsoll.schema.json",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			text, err := describe.Schema(c.lab.Catalog)
			if err != nil {
				return err
			}
			_, err = c.screen.Out.Write(text)
			return err
		},
	}
}
