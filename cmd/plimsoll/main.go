// Command plimsoll says how much a platform carries, whether a change helped,
// why, and what to change next.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"plimsoll/internal/catalog"
	"plimsoll/internal/console"
	"plimsoll/internal/lab"
	"plimsoll/internal/parameter"
	"plimsoll/internal/study"
)

// The exit statuses that scripts may rely on.
const (
	exitDone    = 0
	exitVerdict = 1 // a verdict or a gate went the wrong way
	exitMistake = 2 // what was asked is wrong; nothing was touched
	exitTrouble = 3 // trouble on a machine
	exitOpen    = 4 // a gate could not be judged: too few runs, or no value for a limit
)

func main() { os.Exit(Main(os.Args[1:], os.Stdout, os.Stderr)) }

// Main runs one command line and returns its exit status.
func Main(args []string, stdout, stderr io.Writer) int {
	if status, ok := serve(args, os.Stdin, stdout, stderr); ok {
		return status
	}
	out, complaints := console.NewWriter(stdout), console.NewWriter(stderr)
	c := &command{out: out, err: complaints}
	c.lab = &lab.Lab{Catalog: catalog.All(), Version: release()}
	root := c.root()
	root.SetArgs(args)
	root.SetOut(out)
	root.SetErr(complaints)
	ctx, stop := c.stoppable(root, args)
	defer stop()
	err := root.ExecuteContext(ctx)
	status := exitStatus(err)
	if err == nil || status == exitVerdict { // of more important errors this may be a part
		if lost := out.Failed(); lost != nil {
			err, status = lost, exitTrouble
		}
	}
	if err != nil {
		complain(complaints, err)
	}
	return status
}

// complain prints an error. Mistakes with a place in a file stand a line each,
// as compilers print them, so that editors find the place.
func complain(w io.Writer, err error) {
	mistakes := study.Mistakes(err)
	if mistakes == nil {
		// What a machine lacks is said before that ending, which means the same.
		text := strings.ReplaceAll(err.Error(), ": "+errors.ErrUnsupported.Error(), "")
		fmt.Fprintf(w, "plimsoll: %s\n", text)
	}
	for _, m := range mistakes {
		if m.Line == 0 {
			fmt.Fprint(w, "plimsoll: ")
		}
		fmt.Fprintln(w, m)
	}
}

// verdict is an outcome that scripts want to see as a status, with nothing
// broken.
type verdict struct{ text string }

func (v verdict) Error() string { return v.text }

// undecided is a gate that could not be judged.
type undecided struct{ text string }

func (u undecided) Error() string { return u.text }

// mistake is something wrong in what was asked.
type mistake struct{ err error }

func (m mistake) Error() string { return m.err.Error() }
func (m mistake) Unwrap() error { return m.err }

func exitStatus(err error) int {
	var v verdict
	var m mistake
	var u undecided
	var d *lab.DataError
	switch {
	case err == nil:
		return exitDone
	case errors.As(err, &v), errors.As(err, &d):
		return exitVerdict
	case errors.As(err, &u):
		return exitOpen
	case errors.As(err, &m), lab.IsMistake(err):
		return exitMistake
	}
	return exitTrouble
}

// command is what the subcommands share: where to print, and the lab.
type command struct {
	out, err io.Writer
	lab      *lab.Lab
}

const long = `plimsoll says how much a platform carries, whether a change helped, why, and
what to change next: it runs real workloads in randomised blocks, judges them
with honest statistics, names one change, applies it and verifies it.

STUDY is a file, the name of a built-in study ("plimsoll studies"), or - for
standard input.

Exit status: 0 done; 1 a verdict or a gate went the wrong way, or the system
under test lost data; 2 a mistake in what was asked, and nothing was touched;
3 trouble on a machine; 4 a gate could not be decided.
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
		Args:          noCommand,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return mistake{fmt.Errorf("%w%s; see %s --help", err, nearestFlag(cmd, err), cmd.CommandPath())}
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
	group("studies", "Studies:", c.studies(), c.newStudy(), c.validate(), c.plan(), c.run(), c.resume(), c.tune(), c.restore())
	group("results", "Results:", c.runs(), c.report(), c.compare(), c.audit(), c.export(), c.importResults())
	group("infrastructure", "Clusters and machines:", c.cluster(), c.agent(), c.guest(), c.service())
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

// nearestFlag suggests a flag in place of one that is unknown.
func nearestFlag(cmd *cobra.Command, err error) string {
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

// noCommand refuses what is no subcommand, with what may have been meant.
func noCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var names []string
	for _, sub := range cmd.Commands() {
		names = append(names, sub.Name())
	}
	if near := parameter.Nearest(args[0], names); near != "" {
		return fmt.Errorf("unknown command %q; did you mean %q?", args[0], near)
	}
	return fmt.Errorf("unknown command %q", args[0])
}

// checkArguments makes a wrong number of arguments a mistake.
func checkArguments(cmd *cobra.Command) {
	if check := cmd.Args; check != nil {
		cmd.Args = func(cmd *cobra.Command, args []string) error {
			if err := check(cmd, args); err != nil {
				return mistake{fmt.Errorf("%w; see %s --help", err, cmd.CommandPath())}
			}
			return nil
		}
	}
}
