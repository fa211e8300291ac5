package clustercmd

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"plimsoll/cmd/plimsoll/cli"

	"github.com/spf13/cobra"

	"plimsoll/internal/cluster/replay/compare"
	"plimsoll/internal/cluster/replay/strategy"
	"plimsoll/internal/cluster/scenario"
	"plimsoll/internal/cluster/snapshot"
	"plimsoll/internal/column"
	"plimsoll/scenarios"
)

func replayCommand(c *cli.Screen) *cobra.Command {
	var asJSON, list, log bool
	var policies []string
	var demand, length string
	cmd := &cobra.Command{
		Use:   "replay SCENARIO...",
		Short: "replay scenarios in virtual time under several policies",
		Long: `Replay scenarios in virtual time under several balancing policies and compare the results.
A scenario is a built-in name, "all", a cluster file with a replay section, or with --trace a
snapshot and the demand trace that followed (see plimsoll cluster import). Policies are
compared by the entitled demand that VMs did not get. Each rival is also compared with
plimsoll's policy limited to as many moves.`,
		Example: "  plimsoll cluster replay hot-host\n  plimsoll cluster replay --list\n  plimsoll cluster replay mine.yaml --policy plimsoll,descent --log",
		RunE: func(cmd *cobra.Command, args []string) error {
			if list {
				return listScenarios(c)
			}
			kinds, err := chosen(policies)
			if err != nil {
				return err
			}
			if slices.Equal(args, []string{"all"}) {
				args = scenarios.Names()
			}
			if len(args) == 0 {
				return cli.Mistake(fmt.Errorf("name a scenario or a file, or all: plimsoll cluster replay --list lists the scenarios"))
			}
			all := make([]*scenario.Scenario, len(args))
			for i, name := range args {
				if all[i], err = readDemand(name, demand, length); err != nil {
					return err
				}
			}
			suite, err := replayAll(cmd.Context(), c, all, kinds)
			if err != nil {
				return err
			}
			for i, name := range args {
				suite[i].HeldOut = builtIn(name) && scenarios.HeldOut(name)
			}
			if !log {
				for _, compared := range suite {
					compared.Forget()
				}
			}
			return c.Tell(suite, asJSON)
		},
	}
	f := cmd.Flags()
	f.BoolVar(&asJSON, "json", false, "print JSON")
	f.BoolVar(&list, "list", false, "list the built-in scenarios and the policies")
	f.StringVar(&demand, "trace", "", "`file` with the demand trace of the snapshot, from plimsoll cluster import")
	f.StringVar(&length, "for", "", "`time` of the trace to run, such as 1d or 12h; default all")
	f.BoolVar(&log, "log", false, "list every move")
	f.StringSliceVar(&policies, "policy", nil, "`policies` to compare; default all")
	return cmd
}

// replayAll compares the policies in all scenarios, and shows the progress of several.
func replayAll(ctx context.Context, c *cli.Screen, all []*scenario.Scenario, kinds []strategy.Kind) (compare.Suite, error) {
	show, done := c.Counter()
	defer done()
	began := time.Now()
	return compare.All(ctx, all, kinds, func(n int, s *scenario.Scenario) {
		if len(all) > 1 {
			show(fmt.Sprintf("%d of %d scenarios · %s · %s left", n, len(all), s.Name, cli.Brief(time.Since(began)/time.Duration(n)*time.Duration(len(all)-n))))
		}
	})
}

// chosen are the policies of some names.
func chosen(names []string) ([]strategy.Kind, error) {
	if len(names) == 0 {
		return strategy.Kinds(), nil
	}
	var out []strategy.Kind
	for _, name := range names {
		k, err := strategy.Named(name)
		if err != nil {
			return nil, cli.Mistake(err)
		}
		out = append(out, k)
	}
	return out, nil
}

// builtIn reports whether a name is that of a built-in scenario, and of no file.
func builtIn(name string) bool {
	_, err := os.Stat(name)
	return err != nil && slices.Contains(scenarios.Names(), name)
}

// readScenario reads a built-in scenario or a file.
func readScenario(name string) (*scenario.Scenario, error) {
	file := name
	text, err := os.ReadFile(name)
	if err != nil && !strings.ContainsAny(name, "./") {
		file = name + ".yaml"
		text, err = scenarios.Text(name)
	}
	if err != nil {
		return nil, cli.Mistake(fmt.Errorf("read the scenario: %w", err))
	}
	s, err := snapshot.ReadScenario(file, text)
	if err != nil {
		return nil, cli.Mistake(err)
	}
	return s, nil
}

// listScenarios prints tables as wide as the terminal.
func listScenarios(c *cli.Screen) error {
	const before = 37 // characters of the columns before the description
	t := column.NewTable(c.Out)
	row := func(name, set, doc string) {
		for _, line := range cli.Wrap(doc, c.Columns()-before) {
			fmt.Fprintf(t, "%s\t%s\t%s\n", name, set, line)
			name, set = "", ""
		}
	}
	row("SCENARIO", "SET", "DESCRIPTION")
	for _, name := range scenarios.Names() {
		s, err := readScenario(name)
		if err != nil {
			return err
		}
		set := "tuning"
		if scenarios.HeldOut(name) {
			set = "held-out"
		}
		row(name, set, s.What)
	}
	fmt.Fprintln(t, "\t\t")
	row("POLICY", "", "DESCRIPTION")
	for _, k := range strategy.Kinds() {
		row(k.Name, "", k.Doc)
	}
	return t.Flush()
}
