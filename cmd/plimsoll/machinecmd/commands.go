// Package machinecmd has the commands about machines: agents, guests and the software of services.
package machinecmd

import (
	"github.com/spf13/cobra"

	"plimsoll/cmd/plimsoll/cli"
)

type commands struct {
	screen  *cli.Screen
	version string // of plimsoll
}

// Commands are those about machines.
func Commands(s *cli.Screen, version string) []*cobra.Command {
	c := &commands{s, version}
	return []*cobra.Command{c.agent(), c.guest(), c.service()}
}
