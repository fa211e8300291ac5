package studycmd

import (
	"fmt"
	"slices"
	"strings"

	"plimsoll/cmd/plimsoll/cli"

	"github.com/spf13/cobra"

	"plimsoll/internal/lab"
	"plimsoll/internal/lab/easyrun"
)

func (c *commands) studies() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "studies",
		Short: "list the built-in studies with duration and requirements",
		Long: `List the built-in studies with platform, workload, duration, requirements and question.
The duration excludes preparation, such as filling disks; "plimsoll plan STUDY"
estimates it on this host.`,
		Example: "  plimsoll studies\n  plimsoll studies --json",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			all, err := c.lab.BuiltIns()
			if err != nil {
				return err
			}
			easy, err := easyrun.Describe(c.lab)
			if err != nil {
				return err
			}
			at, _ := slices.BinarySearchFunc(all, easy.Study, func(b lab.BuiltIn, name string) int { return strings.Compare(b.Study, name) })
			all = slices.Insert(all, at, easy)
			if asJSON {
				return cli.PrintJSON(c.screen.Out, all)
			}
			width := c.screen.Columns()
			for _, s := range all {
				fmt.Fprintf(c.screen.Out, "%-22s %s, %s, %s%s\n", s.Study, s.Platform, s.Workload, duration(s), requirements(s))
				for _, line := range cli.Wrap(s.Question, width-2) {
					fmt.Fprintf(c.screen.Out, "  %s\n", line)
				}
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// duration is how long a built-in study takes.
func duration(s lab.BuiltIn) string {
	switch {
	case s.Virtual:
		return "seconds (simulated)"
	case s.Least == s.Time:
		return s.Time
	}
	return s.Least + " to " + s.Time
}

func requirements(s lab.BuiltIn) string {
	if len(s.Needs) == 0 {
		return ""
	}
	return "; needs " + strings.Join(s.Needs, ", ")
}
