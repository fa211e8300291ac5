package clustercmd

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"plimsoll/cmd/plimsoll/cli"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/doctor"
	"plimsoll/internal/live"
	"plimsoll/internal/live/apply"
)

// outline is a plan, and the changes that carry it out.
type outline struct {
	plan    cli.Told
	changes []apply.Change
	verdict error
	refused bool // by the verdict: the changes are not to be made
}

// hand is how a command changes a live cluster.
type hand struct {
	from     *origin
	apply    bool
	journal  string
	parallel int
	asJSON   bool
	undone   []string // journals
}

// hand adds the flags of a command that plans changes, and can apply them.
func (c *clusters) hand(cmd *cobra.Command) *hand {
	h := &hand{from: c.origin(cmd)}
	cmd.Flags().BoolVar(&h.apply, "apply", false, "carry out the plan on the live cluster; requires --live")
	h.flags(cmd)
	check := cmd.Args
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		switch {
		case h.apply && h.from.url == "":
			return errors.New("--apply requires --live: a snapshot cannot be changed; --out writes the one after the moves")
		case h.journal != "" && !h.apply:
			return errors.New("--journal requires --apply")
		case cmd.Flags().Changed("parallel") && !h.apply:
			return errors.New("--parallel requires --apply")
		case h.parallel < 1:
			return fmt.Errorf("--parallel %d: must be at least 1", h.parallel)
		}
		return check(cmd, args)
	}
	return h
}

func (h *hand) flags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&h.journal, "journal", "", "write the journal to this new `file`, not to the state folder")
	cmd.Flags().IntVar(&h.parallel, "parallel", 1, "`number` of moves that a host takes part in at the same time, within the limits of the platform")
	cmd.Flags().BoolVar(&h.asJSON, "json", false, "print JSON")
}

// carriedOut is a plan and its result.
type carriedOut struct {
	Plan    cli.Told      `json:"plan"`
	Applied *apply.Result `json:"applied"`
}

// Text writes the result of the plan, which was printed before.
func (c carriedOut) Text(w io.Writer) error { return c.Applied.Text(w) }

// planned tells a plan, and applies it if the command is told to.
func (h *hand) planned(ctx context.Context, args []string, plan func(*cluster.Cluster, []string) (outline, error)) error {
	if h.apply {
		return h.onCluster(ctx, func(ctx context.Context, s *session) error {
			cl, err := s.look(ctx, h.from.observe)
			if err != nil {
				return err
			}
			o, err := plan(cl, args)
			if err != nil {
				return err
			}
			return h.carryOut(ctx, s, cl, o)
		})
	}
	cl, rest, err := h.from.read(ctx, args)
	if err != nil {
		return err
	}
	o, err := plan(cl, rest)
	if err != nil {
		return err
	}
	if err := h.from.clusters.Tell(o.plan, h.asJSON); err != nil {
		return err
	}
	return o.verdict
}

// carryOut applies a plan for a cluster as it was seen.
func (h *hand) carryOut(ctx context.Context, s *session, seen *cluster.Cluster, o outline) error {
	c := h.from.clusters
	if o.refused || !h.asJSON {
		if err := c.Tell(o.plan, h.asJSON); err != nil {
			return err
		}
	}
	if o.refused {
		return fmt.Errorf("%w; nothing was changed", o.verdict)
	}
	result := &apply.Result{Cluster: seen.Name, Changes: []apply.Outcome{}}
	if len(o.changes) > 0 {
		a, done, err := h.applier(s)
		if err != nil {
			return err
		}
		result, err = a.Apply(ctx, apply.Plan{Seen: seen, Changes: o.changes})
		done()
		if err != nil {
			return refusal(err)
		}
	}
	if err := c.Tell(carriedOut{o.plan, result}, h.asJSON); err != nil {
		return err
	}
	if result.Stopped != "" {
		return cli.Verdict("the plan was not carried out: " + result.Stopped)
	}
	return o.verdict
}

// refusal makes a plan that was refused before the first change a mistake.
func refusal(err error) error {
	if refused := (*apply.Refused)(nil); errors.As(err, &refused) {
		return cli.Mistake(err)
	}
	return err
}

// applier makes changes with a new journal. The function ends the display of its progress.
func (h *hand) applier(s *session) (a apply.Applier, done func(), err error) {
	a = apply.Applier{Connection: s.connection, Journal: h.journal, Parallel: h.parallel, Address: s.address.String()}
	if h.parallel < 1 {
		return a, nil, cli.Mistake(fmt.Errorf("--parallel %d: must be at least 1", h.parallel))
	}
	if a.Journal == "" {
		folder, err := journals()
		if err != nil {
			return a, nil, err
		}
		a.Journal = newJournal(folder)
	}
	a.Progress, done = showProgress(h.from.clusters.Screen)
	return a, done, nil
}

// changesOf are the moves of a report.
func changesOf(r *doctor.Report) (list []apply.Change) {
	for _, m := range r.Moves {
		list = append(list, apply.Change{Number: len(list) + 1, Action: live.Move, Step: m.Step, VM: m.VM, From: m.From, To: m.To})
	}
	return list
}

// maintenance has hosts enter maintenance, after a number of other changes. One that is in
// maintenance stays so.
func maintenance(hosts []*cluster.Host, after int) (list []apply.Change) {
	named := map[string]bool{}
	for _, h := range hosts {
		if h.State != cluster.Maintenance && !named[h.Name] {
			list = append(list, apply.Change{Number: after + 1 + len(list), Action: live.Maintain, Host: h.Name, Enter: true})
		}
		named[h.Name] = true
	}
	return list
}

func undoCommand(c *clusters) *cobra.Command {
	h := &hand{from: &origin{clusters: c}}
	cmd := &cobra.Command{
		Use:   "undo JOURNAL",
		Short: "undo the changes of --apply to a live cluster",
		Long: `Undo the changes of a journal, in reverse order. Their outcomes are first read back from
the cluster. So an undo also works after a crash or kill -9 in the middle of a move, and it
can be repeated. VMs that others moved since are left alone and listed.

An undo has a journal of its own, and stops at the first surprise, as --apply does. The exit
status is 1 if something was left alone or the undo stopped.`,
		Example: "  plimsoll cluster undo ~/.local/state/plimsoll/live/20261123T041500.250000Z-4KQ7.jsonl --live 'vsphere://operator@vcenter.example/DC/Cluster?password=env:VCENTER_PASSWORD'",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if h.from.url == "" {
				return cli.Mistake(errors.New("undo requires --live, the URL of the cluster"))
			}
			j, err := apply.ReadJournal(args[0])
			if err != nil {
				return cli.Mistake(err)
			}
			h.undone = args
			return h.onCluster(cmd.Context(), func(ctx context.Context, s *session) error {
				if j, err = apply.ReadJournal(args[0]); err != nil { // it may have been settled meanwhile
					return err
				}
				return h.undo(ctx, s, j)
			})
		},
	}
	h.from.flag(cmd)
	h.flags(cmd)
	return cmd
}

func (h *hand) undo(ctx context.Context, s *session, j *apply.Journal) error {
	a, done, err := h.applier(s)
	if err != nil {
		return err
	}
	result, err := a.Undo(ctx, j)
	done()
	if err != nil {
		return refusal(err)
	}
	if err := h.from.clusters.Tell(result, h.asJSON); err != nil {
		return err
	}
	switch n := len(result.Left); {
	case result.Stopped != "":
		return cli.Verdict("not all changes were undone: " + result.Stopped)
	case n > 0:
		return cli.Verdict(fmt.Sprintf("VMs and hosts left alone: %d", n))
	}
	return nil
}
