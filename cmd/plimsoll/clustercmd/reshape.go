package clustercmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"plimsoll/cmd/plimsoll/cli"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/topology"
	"plimsoll/internal/live"
	"plimsoll/internal/live/apply"
)

// reshaping is the advice for the VMs of a live cluster, and the changes that follow from it.
type reshaping struct {
	topology.Fleet
	Changes []proposal `json:"changes"`
	Kept    []kept     `json:"kept,omitempty"` // VMs with a better topology, which is not proposed
}

// proposal is a change of a VM's topology.
type proposal struct {
	VM   string `json:"name"`
	From string `json:"from"`
	To   string `json:"to"`
	Busy string `json:"busy,omitempty"` // why it cannot be made now
}

// kept is a VM for which no change is proposed, and why.
type kept struct {
	VM  string `json:"name"`
	Why string `json:"why"`
}

// Text writes the advice, then the changes.
func (r reshaping) Text(w io.Writer) error {
	err := r.Fleet.WriteText(w)
	line := func(format string, args ...any) {
		if err == nil {
			_, err = fmt.Fprintf(w, format, args...)
		}
	}
	for _, part := range []struct {
		title string
		busy  bool
	}{{"changes", false}, {"changes that must wait until the VM is powered off", true}} {
		told := false
		for _, p := range r.Changes {
			if (p.Busy != "") != part.busy {
				continue
			}
			if !told {
				line("\n%s:\n", part.title)
				told = true
			}
			line("  %s: %s -> %s", p.VM, p.From, p.To)
			if part.busy {
				line(" (%s)", p.Busy)
			}
			line("\n")
		}
	}
	for i, k := range r.Kept {
		if i == 0 {
			line("\nno change is proposed:\n")
		}
		line("  %s: %s\n", k.VM, k.Why)
	}
	return err
}

// possible are the changes that can be made now.
func (r reshaping) possible() (list []apply.Change) {
	for _, p := range r.Changes {
		if p.Busy == "" {
			list = append(list, apply.Change{Number: len(list) + 1, Action: live.Reshape, VM: p.VM, From: p.From, To: p.To})
		}
	}
	return list
}

// reshaper plans changes of topologies.
type reshaper struct {
	hand          *hand
	options       *topology.Options
	withoutHotAdd bool
}

func (r *reshaper) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.BoolVar(&r.hand.apply, "apply", false, "change the VMs that are powered off, one after the other; requires --live")
	f.StringVar(&r.hand.journal, "journal", "", "write the journal to this new `file`, not to the state folder")
	f.BoolVar(&r.hand.asJSON, "json", false, "print JSON")
	f.BoolVar(&r.withoutHotAdd, "without-hot-add", false, "turn CPU hot-add off where it hides NUMA nodes")
	check := cmd.Args
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		switch {
		case r.hand.apply && r.hand.from.url == "":
			return errors.New("--apply requires --live: a snapshot cannot be changed")
		case r.hand.journal != "" && !r.hand.apply:
			return errors.New("--journal requires --apply")
		}
		return check(cmd, args)
	}
}

// scan is the advice for all VMs.
func (r *reshaper) scan(cl *cluster.Cluster) (*cluster.Cluster, topology.Fleet) {
	fleet := topology.Scan(cl, *r.options)
	if !r.withoutHotAdd {
		return cl, fleet
	}
	next := *cl
	next.VMs = slices.Clone(cl.VMs)
	for _, a := range fleet.Advices {
		if a.Grade == topology.HotAddFlat {
			next.VMs[a.ID].HotAdd = false
		}
	}
	return &next, topology.Scan(&next, *r.options)
}

// plan compares the advice with what VMs have. The names limit it to some of them.
func (r *reshaper) plan(ctx context.Context, s *session, cl *cluster.Cluster, only []string) (reshaping, error) {
	_, fleet := r.scan(cl)
	if len(only) > 0 {
		fleet.Advices = slices.DeleteFunc(fleet.Advices, func(a topology.Advised) bool { return !slices.Contains(only, a.VM.Name) })
		fleet.Unjudged = slices.DeleteFunc(fleet.Unjudged, func(u topology.Unjudged) bool { return !slices.Contains(only, u.Name) })
		fleet.Summary = nil
	}
	out := reshaping{Fleet: fleet, Changes: []proposal{}}
	if s.connection.Shaper == nil {
		return out, nil
	}
	var names []string
	for _, a := range fleet.Advices {
		names = append(names, a.VM.Name)
	}
	now, err := s.connection.Shaper.Shapes(ctx, names)
	if err != nil {
		return out, err
	}
	for _, a := range fleet.Advices {
		shape, there := now[a.VM.Name]
		if !there {
			continue
		}
		want, why := a.Change(shape.Present)
		switch {
		case why == "":
			out.Changes = append(out.Changes, proposal{a.VM.Name, shape.String(), want.String(), shape.Busy})
		case a.Grade >= topology.Odd:
			out.Kept = append(out.Kept, kept{a.VM.Name, why})
		}
	}
	return out, nil
}

// live tells the advice for the VMs of a live cluster, and applies it if the command is told to.
func (r *reshaper) live(ctx context.Context, args []string) error {
	h := r.hand
	if h.apply {
		return h.onCluster(ctx, func(ctx context.Context, s *session) error {
			if s.connection.Shaper == nil {
				return cli.Mistake(fmt.Errorf("--apply: virtual topologies of %s clusters cannot be changed; --emit writes them for a VM", s.address.Scheme))
			}
			cl, p, err := r.look(ctx, s, args)
			if err != nil {
				return err
			}
			return h.carryOut(ctx, s, cl, outline{plan: p, changes: p.possible()})
		})
	}
	ctx, stop := stoppable(ctx)
	defer stop()
	s, err := h.from.open(ctx)
	if err != nil {
		return err
	}
	_, p, err := r.look(ctx, s, args)
	if err := errors.Join(err, s.close()); err != nil {
		return err
	}
	return h.from.clusters.Tell(p, h.asJSON)
}

func (r *reshaper) look(ctx context.Context, s *session, only []string) (*cluster.Cluster, reshaping, error) {
	cl, err := s.look(ctx, r.hand.from.observe)
	if err != nil {
		return nil, reshaping{}, err
	}
	for _, name := range only {
		if _, err := findVM(cl, name); err != nil {
			return nil, reshaping{}, err
		}
	}
	p, err := r.plan(ctx, s, cl, only)
	return cl, p, err
}
