package cli

import (
	"fmt"
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
