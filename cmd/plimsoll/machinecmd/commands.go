// Package machinecmd has the commands about machines: agents, guests and the software of services.
package machinecmd

import (
	"github.com/spf13/cobra"

	"plimsoll/cmd/plimsoll/cli"
	"plimsoll/internal/platform"
)

type commands struct {
	screen  *cli.Screen
	version string // of plimsoll

	platforms []platform.Kind
	guests    []*cobra.Command // further commands about guests
}

// Commands are those about machines, with further ones about guests.
func Commands(s *cli.Screen, version string, platforms []platform.Kind, guests ...*cobra.Command) []*cobra.Command {
	c := &commands{s, version, platforms, guests}
	return []*cobra.Command{c.agent(), c.check(), c.guest(), c.service()}
}
