package machinecmd

import (
	"fmt"
	"os"

	"plimsoll/cmd/plimsoll/cli"

	"github.com/spf13/cobra"

	"plimsoll/internal/service/cassandra"
)

func (c *commands) service() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "service",
		Short:   "fetch what services are started from that no distribution packages",
		Example: "  plimsoll service cassandra fetch",
		Args:    cli.NoCommand,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(c.serviceCassandra())
	return cmd
}

func (c *commands) serviceCassandra() *cobra.Command {
	cmd := &cobra.Command{
		Use: "cassandra", Short: "Apache Cassandra", Example: "  plimsoll service cassandra fetch", Args: cli.NoCommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	var dir string
	fetch := &cobra.Command{
		Use:   "fetch",
		Short: "fetch the jars of Apache Cassandra",
		Long: `Fetch the jars of Apache Cassandra with Maven, check each against the SHA-256 that
plimsoll knows, keep them in a folder and print it. Nothing is installed and root is
not needed. What is there already is not fetched again.`,
		Example: "  plimsoll service cassandra fetch",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if dir == "" {
				cache, err := os.UserCacheDir()
				if err != nil {
					return fmt.Errorf("find the folder for the jars: %w; name one with --dir", err)
				}
				dir = cassandra.Folder(cache)
			}
			if err := cassandra.Fetch(cmd.Context(), dir); err != nil {
				return err
			}
			_, err := fmt.Fprintln(c.screen.Out, dir)
			return err
		},
	}
	fetch.Flags().StringVar(&dir, "dir", "", "`folder` to keep them in (default: plimsoll in the user's cache)")
	cmd.AddCommand(fetch)
	return cmd
}
