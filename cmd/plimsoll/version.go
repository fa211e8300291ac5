package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// version is set by the Makefile and by releases; empty in a plain "go build".
var version = ""

// release returns the version of this binary: the one its build set, else the
// module version or the commit that the Go toolchain recorded.
func release() string {
	if version != "" {
		return version
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	return recorded(info)
}

// recorded returns the version in a binary's build information: the module
// version, else the commit, with -dirty where files were changed.
func recorded(info *debug.BuildInfo) string {
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	settings := map[string]string{}
	for _, s := range info.Settings {
		settings[s.Key] = s.Value
	}
	commit := settings["vcs.revision"]
	if commit == "" {
		return "unknown"
	}
	if len(commit) > 12 {
		commit = commit[:12]
	}
	if settings["vcs.modified"] == "true" {
		commit += "-dirty"
	}
	return commit
}

// versionLine is the answer to "plimsoll version" and "plimsoll --version".
func versionLine() string {
	return fmt.Sprintf("plimsoll %s (%s, %s/%s)\n", release(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

func (c *command) version() *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "print the version",
		Example: "  plimsoll version\n  plimsoll --version",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprint(c.screen.Out, versionLine())
			return err
		},
	}
}
