// Package studycmd has the commands about studies: from the list of those built in to a run that
// is restored.
package studycmd

import (
	"github.com/spf13/cobra"

	"plimsoll/cmd/plimsoll/cli"
	"plimsoll/internal/lab"
)

type commands struct {
	screen *cli.Screen
	lab    *lab.Lab
}

// Commands are those about studies, in the order of use.
func Commands(s *cli.Screen, l *lab.Lab) []*cobra.Command {
	c := &commands{s, l}
	return []*cobra.Command{c.studies(), c.newStudy(), c.validate(), c.plan(), c.run(), c.resume(), c.tune(), c.restore()}
}
