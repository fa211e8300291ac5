package clustercmd

import (
	"errors"
	"fmt"

	"plimsoll/cmd/plimsoll/cli"

	"github.com/spf13/cobra"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/balance/advice"
	"plimsoll/internal/cluster/doctor"
	"plimsoll/internal/cluster/picture"
)

func doctorCommand(c *clusters) *cobra.Command {
	var asJSON bool
	var format, at string
	var file ledgerFile
	var html htmlFile
	var from *origin
	cmd := &cobra.Command{
		Use:   "doctor SNAPSHOT",
		Short: "report the state of a cluster, the next moves and their reasons",
		Long: `Report the state of a cluster, the moves of the next round with their reasons, and why the
other VMs stay.

With --ledger, the state and the predictions are appended to a file, one line per round. The
previous round is then checked against this snapshot: moves made or not, predicted loads, and
unrecommended moves. With --html, a page shows the same with charts.

The exit status is 1 when a VM is stranded or a hard constraint is violated now, even where
the moves repair it.`,
		Example: "  plimsoll cluster doctor lab.yaml\n  plimsoll cluster doctor lab.yaml --format lines\n" +
			"  plimsoll cluster doctor --live 'vsphere://operator@vcenter.example/DC/Cluster?password=env:VCENTER_PASSWORD' --observe 5m\n" +
			"  plimsoll cluster doctor lab.yaml --ledger lab.ledger --at 2026-11-21T14:00:00Z",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if asJSON {
				format = "json"
			}
			if err := asked(format, at, file, html); err != nil {
				return err
			}
			ledger, err := file.read()
			if err != nil {
				return err
			}
			cl, _, err := from.read(cmd.Context(), args)
			if err != nil {
				return err
			}
			report, round, err := consult(cl, ledger, file != "", at)
			if err != nil {
				return err
			}
			if err := inOrder(
				func() error { return html.write(picture.Input{Report: report}) },
				func() error { return tellAs(c.Screen, report, format) },
				func() error { return file.enter(ledger, round) },
			); err != nil {
				return err
			}
			return violated(report)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON, the same as --format json")
	cmd.Flags().StringVar(&format, "format", "text", "text, json (one document) or lines (JSON objects, one per line)")
	cmd.Flags().StringVar((*string)(&file), "ledger", "", "`file` with previous rounds: check the last one and append this one")
	cmd.Flags().StringVar(&at, "at", "", "`time` of the snapshot, such as 2026-11-21T14:00:00Z; default its at")
	html.flag(cmd)
	from = c.origin(cmd)
	return cmd
}

// asked checks the options.
func asked(format, at string, file ledgerFile, html htmlFile) error {
	if format != "text" && format != "json" && format != "lines" {
		return cli.Mistake(fmt.Errorf("--format %q: must be text, json or lines", format))
	}
	if at != "" && file == "" {
		return cli.Mistake(errors.New("--at requires --ledger"))
	}
	return html.free(string(file))
}

// inOrder calls functions up to the first error.
func inOrder(steps ...func() error) error {
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// tellAs prints a report in one of the doctor's formats.
func tellAs(c *cli.Screen, r *doctor.Report, format string) error {
	if format == "lines" {
		return r.Lines(c.Out)
	}
	return c.Tell(r, format == "json")
}

// violated is the verdict on a cluster as it is: 1 as the exit status where a VM is stranded
// or a hard constraint is violated.
func violated(r *doctor.Report) error {
	if n := len(r.Broken); n > 0 && len(r.Stranded) == 0 {
		return cli.Verdict(fmt.Sprintf("hard constraints violated: %d", n))
	}
	return unresolved(r)
}

// consult looks at a cluster, with a ledger where one is named, and gives the round to enter there.
func consult(cl *cluster.Cluster, l *doctor.Ledger, named bool, at string) (*doctor.Report, *doctor.Round, error) {
	if !named {
		return doctor.Look(cl, advice.Options{}), nil, nil
	}
	report, round, err := l.Look(cl, at)
	if err != nil {
		return nil, nil, cli.Mistake(err)
	}
	return report, round, nil
}
