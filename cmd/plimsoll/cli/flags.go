package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"plimsoll/internal/parameter"
)

// Complete offers the values of a flag to the shell.
func Complete(cmd *cobra.Command, flag string, values func(typed string) []string) {
	err := cmd.RegisterFlagCompletionFunc(flag, func(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		directive := cobra.ShellCompDirectiveNoFileComp
		all := values(typed)
		if len(all) > 0 && strings.HasSuffix(all[0], "=") {
			directive |= cobra.ShellCompDirectiveNoSpace
		}
		return all, directive
	})
	if err != nil {
		panic(err) // the flag does not exist, or was registered twice
	}
}

// Create writes a new file, or leaves none; what says what it holds.
func Create(name, what string, write func(io.Writer) error) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return Mistake(fmt.Errorf("write %s: %w", what, err))
	}
	if err := errors.Join(write(f), f.Close()); err != nil {
		_ = os.Remove(name)
		return fmt.Errorf("write %s %s: %w", what, name, err)
	}
	return nil
}

// Folders offers directories for the arguments of a command.
func Folders(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveFilterDirs
}

// NoCommand refuses what is no subcommand, with what may have been meant.
func NoCommand(cmd *cobra.Command, args []string) error {
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
