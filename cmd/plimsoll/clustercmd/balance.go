package clustercmd

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"plimsoll/cmd/plimsoll/cli"

	"github.com/spf13/cobra"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/balance/advice"
	"plimsoll/internal/cluster/doctor"
	"plimsoll/internal/cluster/picture"
)

// planned is a round with what was asked for besides. A mistake comes before anything is
// written.
func (p *planning) planned(cl *cluster.Cluster) (out *doctor.Planned, err error) {
	out = &doctor.Planned{Report: doctor.Look(cl, p.options)}
	if p.exact {
		if out.Exact, err = doctor.FromBest(cl, p.options); err != nil {
			return nil, cli.Mistake(fmt.Errorf("--exact: %w", err))
		}
	}
	if p.stages {
		out.Timetable = doctor.Staged(cl, p.options)
	}
	return out, nil
}

// unresolved is the verdict on a plan: 1 as the exit status where it leaves a VM stranded or
// a hard constraint violated.
func unresolved(r *doctor.Report) error {
	switch stranded, violated := len(r.Stranded), len(r.Remaining); {
	case stranded > 0:
		return cli.Verdict(fmt.Sprintf("VMs that must move and cannot: %d", stranded))
	case violated > 0:
		return cli.Verdict(fmt.Sprintf("hard constraints violated after the moves: %d", violated))
	}
	return nil
}

// planning is the options of a plan.
type planning struct {
	stages, exact bool
	options       advice.Options
	out           string
	html          htmlFile
}

func (p *planning) flags(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&p.stages, "stages", false, "group the moves into parallel stages with estimated durations")
	cmd.Flags().StringVar(&p.out, "out", "", "write the snapshot after the moves to a new `file`")
	p.html.flag(cmd)
}

// plan is a round of moves, in the files that are asked for as well.
func (p *planning) plan(cl *cluster.Cluster, title string) (outline, error) {
	if err := p.html.free(p.out); err != nil {
		return outline{}, err
	}
	plan, err := p.planned(cl)
	if err != nil {
		return outline{}, err
	}
	if err := writeAfter(p.out, cl, doctor.After(cl, p.options)); err != nil {
		return outline{}, err
	}
	if err := p.html.write(picture.Input{Report: plan.Report, Title: title}); err != nil {
		return outline{}, err
	}
	return outline{plan: plan, changes: changesOf(plan.Report), verdict: unresolved(plan.Report)}, nil
}

func balanceCommand(c *clusters) *cobra.Command {
	var p planning
	cmd := &cobra.Command{
		Use:   "balance SNAPSHOT",
		Short: "plan one round of migrations",
		Long: `Plan one round of migrations: mandatory moves, moves for should-rules, and moves for load
balance that save more than they cost.

With --out, the snapshot after the moves is written to a new file; with --html, a page with
the hosts before and after and the reason for each move. With --stages, moves that can run in
parallel are grouped. With --exact, the plan is compared with the optimum, which is
computable for about ten VMs.

With --live and --apply, the moves are made, in parallel between different hosts. It stops at the first surprise, such as a VM that
somebody else moved, and says what was done and how to go back.

The exit status is 1 when the plan leaves a VM stranded or a hard constraint violated, or was
not carried out.`,
		Example: "  plimsoll cluster balance lab.yaml\n  plimsoll cluster balance lab.yaml --stages\n  plimsoll cluster balance lab.yaml --out after.yaml --html plan.html\n" +
			"  plimsoll cluster balance --live 'vsphere://operator@vcenter.example/DC/Cluster?password=env:VCENTER_PASSWORD' --apply",
		Args: cobra.ExactArgs(1),
	}
	p.flags(cmd)
	cmd.Flags().BoolVar(&p.exact, "exact", false, "compare the plan with the best of all layouts; for small clusters")
	h := c.hand(cmd)
	dryRun := cmd.Flags().Bool("dry-run", true, "plan only, which is the default; the opposite of --apply")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if said := cmd.Flags().Changed("dry-run"); said && *dryRun == h.apply {
			return cli.Mistake(errors.New("--dry-run contradicts --apply, or its absence: use --apply alone, with --live"))
		}
		return h.planned(cmd.Context(), args, func(cl *cluster.Cluster, _ []string) (outline, error) { return p.plan(cl, "") })
	}
	return cmd
}

func evacuateCommand(c *clusters) *cobra.Command {
	p := planning{options: advice.Options{Mandatory: true}}
	cmd := &cobra.Command{
		Use:   "evacuate SNAPSHOT HOST...",
		Short: "plan the evacuation of hosts for maintenance",
		Long: `Plan the moves that evacuate hosts for maintenance. Those for load are left to balance.

With --live and --apply, the moves are made as by balance, and the hosts then enter
maintenance. A plan that cannot empty the hosts is not applied. It stops at the first
surprise, and says what was done and how to go back.

The exit status is 1 when a VM cannot leave, the plan leaves a hard constraint violated, or was
not carried out.`,
		Example: "  plimsoll cluster evacuate lab.yaml esx-3\n  plimsoll cluster evacuate lab.yaml esx-1 esx-2 --stages\n" +
			"  plimsoll cluster evacuate --live 'vsphere://operator@vcenter.example/DC/Cluster?password=env:VCENTER_PASSWORD' esx-3 --apply",
		Args: cobra.MinimumNArgs(2),
	}
	p.flags(cmd)
	h := c.hand(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return h.planned(cmd.Context(), args, func(cl *cluster.Cluster, hosts []string) (outline, error) {
			emptied := *cl // the steps of a live cluster are not changed
			emptied.Hosts = slices.Clone(cl.Hosts)
			var chosen []*cluster.Host
			for _, name := range hosts {
				host, err := findHost(cl, name)
				if err != nil {
					return outline{}, err
				}
				chosen = append(chosen, &cl.Hosts[host])
				emptied.Hosts[host].State = cluster.Maintenance
			}
			o, err := p.plan(&emptied, "How would "+strings.Join(hosts, ", ")+" be emptied?")
			if err != nil {
				return outline{}, err
			}
			o.refused = o.verdict != nil
			o.changes = append(o.changes, maintenance(chosen, len(o.changes))...)
			return o, nil
		})
	}
	return cmd
}
