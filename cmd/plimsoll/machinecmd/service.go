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
		Short:   "fetch server software that distributions do not package",
		Example: "  plimsoll service cassandra fetch\n  plimsoll service classifier fetch --images",
		Args:    cli.NoCommand,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(c.serviceCassandra(), c.serviceClassifier())
	return cmd
}

func (c *commands) serviceCassandra() *cobra.Command {
	cmd := &cobra.Command{
		Use: "cassandra", Short: "fetch Apache Cassandra", Example: "  plimsoll service cassandra fetch", Args: cli.NoCommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	var dir string
	fetch := &cobra.Command{
		Use:   "fetch",
		Short: "fetch the jars of Apache Cassandra",
		Long: `Fetch the jars of Apache Cassandra with Maven, check their SHA-256 sums, store them in
a folder and print its path. Nothing is installed, and root is not required. Jars that
are already in the folder are not fetched again.`,
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
	fetch.Flags().StringVar(&dir, "dir", "", "`folder` for the jars (default: plimsoll in the user's cache)")
	cmd.AddCommand(fetch)
	return cmd
}
