package main

import (
	"strings"

	"github.com/spf13/cobra"

	"plimsoll/internal/catalog"
	"plimsoll/internal/study"
)

// complete offers the values of a flag to the shell.
func complete(cmd *cobra.Command, flag string, values func(typed string) []string) {
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

// folders offers directories for the arguments of a command.
func folders(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveFilterDirs
}

// paths are what --set can override, each with "=": keys of a study and settings
// of everything in the catalog.
func (c *command) paths(string) []string {
	var out []string
	for _, path := range append(study.Paths(), catalog.Settings(c.lab.Catalog)...) {
		out = append(out, path+"=")
	}
	return out
}
