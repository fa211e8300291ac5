// Command plimsoll says how much a platform carries, whether a change helped,
// why, and what to change next.
package main

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"plimsoll/cmd/plimsoll/cli"
	"plimsoll/cmd/plimsoll/clustercmd"
	"plimsoll/cmd/plimsoll/machinecmd"
	"plimsoll/cmd/plimsoll/resultscmd"
	"plimsoll/cmd/plimsoll/studycmd"
	"plimsoll/cmd/plimsoll/vcentercmd"
	"plimsoll/internal/catalog"
	"plimsoll/internal/console"
	"plimsoll/internal/lab"
	"plimsoll/internal/parameter"
)

func main() { os.Exit(Main(os.Args[1:], os.Stdout, os.Stderr)) }

// Main runs one command line and returns its exit status.
func Main(args []string, stdout, stderr io.Writer) int {
	if status, ok := serve(args, os.Stdin, stdout, stderr); ok {
		return status
	}
	out, complaints := console.NewWriter(stdout), console.NewWriter(stderr)
	c := &command{screen: &cli.Screen{Out: out, Err: complaints}, lab: &lab.Lab{Catalog: catalog.All(), Version: release()}}
	root := c.root()
	root.SetArgs(args)
	root.SetOut(out)
	root.SetErr(complaints)
	ctx, stop := c.stoppable(root, args)
	defer stop()
	err := root.ExecuteContext(ctx)
	status := cli.ExitStatus(err)
	if err == nil || status == cli.ExitVerdict { // of more important errors this may be a part
		if lost := out.Failed(); lost != nil {
			err, status = lost, cli.ExitTrouble
		}
	}
	if err != nil {
		cli.Complain(complaints, err)
		if cli.OnGitHub() {
			cli.Annotate(complaints, err)
		}
	}
	return status
}

// command is what the commands below share.
type command struct {
	screen *cli.Screen
	lab    *lab.Lab
}

const long = `plimsoll measures how much a platform carries, whether a change helped, why, and
what to change next. It runs real workloads in randomised blocks, judges them
with reliable statistics, recommends one change, applies it and verifies it.

STUDY is a file, the name of a built-in study ("plimsoll studies"), or - for
standard input.

Exit status:
  0  done
  1  a verdict or a gate failed, or the system under test lost data
  2  a mistake in the command or the study; nothing was changed
  3  trouble on a machine
  4  a gate could not be decided

Results go to standard output, progress to standard error.`

func (c *command) root() *cobra.Command {
	cobra.EnableCommandSorting = false // the order of use, not of the alphabet
	root := &cobra.Command{
		Use:           "plimsoll",
		Short:         "how much a platform carries, whether a change helped, why, and what to change next",
		Long:          long,
		Example:       "  plimsoll tune hci-diagnostics\n  plimsoll run tutorial-ab",
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cli.NoCommand,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return cli.Mistake(fmt.Errorf("%w%s; see %s --help", err, insteadOf(cmd, err), cmd.CommandPath()))
	})
	root.Version = release()
	root.SetVersionTemplate(versionLine())
	group := func(id, title string, commands ...*cobra.Command) {
		root.AddGroup(&cobra.Group{ID: id, Title: title})
		for _, cmd := range commands {
			cmd.GroupID = id
			root.AddCommand(cmd)
		}
	}
	group("studies", "Studies:", studycmd.Commands(c.screen, c.lab)...)
	group("results", "Results:", resultscmd.Commands(c.screen, c.lab)...)
	group("infrastructure", "Clusters and machines:", append([]*cobra.Command{clustercmd.Command(c.screen, catalog.Clusters()), vcentercmd.Command(c.screen)}, machinecmd.Commands(c.screen, c.lab.Version, c.lab.Catalog.Platforms, studycmd.Protect(c.screen, c.lab))...)...)
	group("reference", "Reference:", c.manual(), c.schema(), c.man(), c.version())
	root.SetHelpCommandGroupID("reference")
	root.SetCompletionCommandGroupID("reference")
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	for _, cmd := range append(root.Commands(), root) {
		checkArguments(cmd)
		for _, sub := range cmd.Commands() {
			if cmd != root {
				checkArguments(sub)
			}
		}
		switch cmd.Name() {
		case "help":
			cmd.Example = "  plimsoll help run"
		case "completion":
			cmd.Example = "  plimsoll completion bash > /etc/bash_completion.d/plimsoll"
		}
	}
	return root
}

// insteadOf suggests what an unknown flag may be: another one, or the name of a VM.
func insteadOf(cmd *cobra.Command, err error) string {
	if strings.HasPrefix(err.Error(), "unknown shorthand flag: ") && (strings.Contains(cmd.Use, "VM") || strings.Contains(cmd.Use, "HOST")) {
		return "; names that begin with - follow --, after all flags"
	}
	unknown, found := strings.CutPrefix(err.Error(), "unknown flag: --")
	if !found {
		return ""
	}
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	if near := parameter.Nearest(unknown, names); near != "" {
		return fmt.Sprintf("; did you mean --%s?", near)
	}
	return ""
}

// checkArguments makes a wrong number of arguments a mistake.
func checkArguments(cmd *cobra.Command) {
	if check := cmd.Args; check != nil {
		cmd.Args = func(cmd *cobra.Command, args []string) error {
			if err := check(cmd, args); err != nil {
				return cli.Mistake(fmt.Errorf("%w; see %s --help", err, cmd.CommandPath()))
			}
			return nil
		}
	}
}
