package main

import (
	"context"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"plimsoll/cmd/plimsoll/cli"
	"plimsoll/internal/console"
)

// Commands that may change a host, and of those the ones that go on when nobody reads
// their output: restore has to finish, an agent, a vCenter and serve are daemons.
var (
	changing = []string{"run", "resume", "tune", "restore", "plan", "agent", "guest", "service", "vcenter", "serve"}
	going    = []string{"restore", "agent", "vcenter", "serve"}
)

// stoppable returns the context of a command line, which ends when the user wants it to. A
// command that changes nothing ends at once by whatever signal it gets, as programs do.
func (c *command) stoppable(root *cobra.Command, args []string) (context.Context, func()) {
	name := topCommand(root, args)
	if !slices.Contains(changing, name) {
		return context.Background(), func() {}
	}
	left := c.lab.Left
	if name == "vcenter" || name == "serve" {
		left = nil // they change no host
	}
	return console.Stopping{
		Out: c.screen.Out, Err: c.screen.Err, Left: left, Readers: !slices.Contains(going, name),
		Exit: func() { os.Exit(cli.ExitTrouble) },
	}.Start(context.Background())
}

// topCommand is the name of the command right below the root.
func topCommand(root *cobra.Command, args []string) string {
	cmd, _, err := root.Find(args)
	if err != nil {
		return ""
	}
	for cmd.HasParent() && cmd.Parent() != root {
		cmd = cmd.Parent()
	}
	return cmd.Name()
}
