package main

import (
	"fmt"
	"os"
	"time"

	"plimsoll/cmd/plimsoll/cli"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

// manDate stands in every manual page, so that the same source makes the same pages.
var manDate = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func (c *command) man() *cobra.Command {
	return &cobra.Command{
		Use:   "man FOLDER",
		Short: "write a manual page in troff format for each command",
		Long: `Write a manual page (section 1) for each command to a folder, which is created if
needed. Packages install them in /usr/share/man/man1.`,
		Example: "  plimsoll man man1 && man -l man1/plimsoll-run.1",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := os.MkdirAll(args[0], 0o755); err != nil {
				return cli.Mistake(fmt.Errorf("create folder for manual pages: %w", err))
			}
			header := &doc.GenManHeader{Title: "PLIMSOLL", Section: "1", Source: "plimsoll " + release(), Manual: "plimsoll", Date: &manDate}
			root := cmd.Root()
			root.DisableAutoGenTag = true
			return doc.GenManTree(root, header, args[0])
		},
	}
}
