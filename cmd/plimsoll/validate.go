package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"plimsoll/internal/lab"
)

func (c *command) validate() *cobra.Command {
	var a asked
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "validate STUDY",
		Short:   "check a study file: every mistake, with its line and column",
		Long:    "Check a study file. Every mistake is reported with its line and column, and what would be right.\nNothing is touched; whether this host can run the study is what plan says.",
		Example: "  plimsoll validate my-study.yaml\n  plimsoll validate my-study.yaml --set storage.depth=8",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			r, err := c.request(cmd, args[0], &a)
			if err != nil {
				return err
			}
			if err := lab.Plannable(r); err != nil {
				return err
			}
			if asJSON {
				return printJSON(c.out, r.Source.Study)
			}
			_, err = fmt.Fprintf(c.out, "%s is a valid study\n", args[0])
			return err
		},
	}
	a.flags(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the study as understood, as JSON")
	return cmd
}
