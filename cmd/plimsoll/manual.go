package main

import (
	"io"
	"strings"

	"github.com/spf13/cobra"

	"plimsoll/cmd/plimsoll/cli"
	"plimsoll/internal/catalog/manual"
)

func (c *command) manual() *cobra.Command {
	return &cobra.Command{
		Use:     "manual [NAME]",
		Short:   "print the reference page of a workload, factor or collector",
		Example: "  plimsoll manual\n  plimsoll manual storage\n  plimsoll manual host.scheduler\n  plimsoll manual redis.appendfsync",
		Args:    cobra.MaximumNArgs(1),
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return append(manual.Names(c.lab.Catalog), manual.Settings(c.lab.Catalog)...), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return c.screen.Folded(func(w io.Writer) error { return manual.PrintIndex(w, c.lab.Catalog) })
			}
			var page strings.Builder
			if err := manual.PrintPage(&page, c.lab.Catalog, args[0]); err != nil {
				return cli.Mistake(err)
			}
			return c.screen.Folded(func(w io.Writer) error { _, err := io.WriteString(w, page.String()); return err })
		},
	}
}
