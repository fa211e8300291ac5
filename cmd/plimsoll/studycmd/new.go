package studycmd

import (
	"github.com/spf13/cobra"

	"plimsoll/cmd/plimsoll/cli"
	"plimsoll/internal/study/describe"
)

func (c *commands) newStudy() *cobra.Command {
	return &cobra.Command{
		Use:     "new WORKLOAD",
		Short:   "write a commented study for a workload to standard output",
		Example: "  plimsoll new storage > my-study.yaml",
		Args:    cobra.ExactArgs(1),
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return c.lab.Catalog.Names("workload"), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(_ *cobra.Command, args []string) error {
			text, err := describe.Template(c.lab.Catalog, args[0])
			if err != nil {
				return cli.Mistake(err)
			}
			_, err = c.screen.Out.Write(text)
			return err
		},
	}
}
