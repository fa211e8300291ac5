package studycmd

import (
	"io"
	"strings"

	"plimsoll/cmd/plimsoll/cli"

	"github.com/spf13/cobra"

	"plimsoll/internal/lab"
	"plimsoll/internal/lab/easyrun"
)

func (c *commands) plan() *cobra.Command {
	var a asked
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "plan STUDY",
		Short: "show trials, changes to this host, disk space and duration",
		Long: `Show what a run would do: the trials in order, every change to this host, disk
space, duration, and the smallest detectable effect. The host is examined but not
changed; missing requirements are listed.`,
		Example: "  plimsoll plan hci-diagnostics\n  plimsoll plan my-study.yaml --seed 7 --json",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if args[0] == easyrun.Name {
				return c.planEasy(cmd, &a, asJSON)
			}
			r, err := c.request(cmd, args[0], &a)
			if err != nil {
				return err
			}
			preview, err := c.lab.Preview(cmd.Context(), r)
			if err != nil {
				return err
			}
			if asJSON {
				return cli.PrintJSON(c.screen.Out, preview)
			}
			var text strings.Builder
			if err := lab.PrintPreview(&text, preview); err != nil {
				return err
			}
			_, err = io.WriteString(c.screen.Out, cli.Fold(text.String(), c.screen.Columns()))
			return err
		},
	}
	a.flags(c, cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}
