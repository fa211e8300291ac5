// Package resultscmd has the commands about results: those that judge, compare and convert them.
package resultscmd

import (
	"github.com/spf13/cobra"

	"plimsoll/cmd/plimsoll/cli"
	"plimsoll/internal/lab"
)

type commands struct {
	screen *cli.Screen
	lab    *lab.Lab
}

// Commands are those about results, in the order of use.
func Commands(s *cli.Screen, l *lab.Lab) []*cobra.Command {
	c := &commands{s, l}
	return []*cobra.Command{c.runs(), c.report(), c.compare(), c.trend(), c.serve(), c.audit(), c.export(), c.importResults()}
}
