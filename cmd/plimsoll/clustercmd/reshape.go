package clustercmd

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"plimsoll/cmd/plimsoll/cli"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/topology"
	"plimsoll/internal/live"
	"plimsoll/internal/live/reshape"
)

// reshaper plans changes of topologies.
type reshaper struct {
	hand          *hand
	options       *topology.Options
	given         func(flag string) bool
	withoutHotAdd bool
}

func (r *reshaper) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	r.given = f.Changed
	f.BoolVar(&r.hand.apply, "apply", false, "change the VMs that are powered off, one after the other; requires --live")
	f.StringVar(&r.hand.journal, "journal", "", "write the journal to this new `file`, not to the state folder")
	f.BoolVar(&r.hand.asJSON, "json", false, "print JSON")
	f.BoolVar(&r.withoutHotAdd, "without-hot-add", false, "disable CPU hot-add if it hides NUMA nodes")
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
func (r *reshaper) scan(cl *cluster.Cluster) topology.Fleet {
	fleet := topology.Scan(cl, *r.options)
	if !r.withoutHotAdd {
		return fleet
	}
	next := *cl
	next.VMs = slices.Clone(cl.VMs)
	for _, a := range fleet.Advices {
		if a.Grade == topology.HotAddFlat {
			next.VMs[a.ID].HotAdd = false
		}
	}
	return topology.Scan(&next, *r.options)
}

// plan compares the advice with what VMs have. The names limit it to some of them.
func (r *reshaper) plan(ctx context.Context, s *session, cl *cluster.Cluster, only []string) (*reshape.Report, error) {
	fleet, now, err := r.shapes(ctx, s, cl)
	if err != nil {
		return nil, err
	}
	if len(only) > 0 {
		fleet.Advices = slices.DeleteFunc(fleet.Advices, func(a topology.Advised) bool { return !slices.Contains(only, a.VM.Name) })
		fleet.Unjudged = slices.DeleteFunc(fleet.Unjudged, func(u topology.Unjudged) bool { return !slices.Contains(only, u.Name) })
		fleet.Summary = nil
	}
	return reshape.New(fleet, now), nil
}

// shapes is the advice, and what VMs have. Other platforms than vSphere show nodes to the smallest VM
// as well.
func (r *reshaper) shapes(ctx context.Context, s *session, cl *cluster.Cluster) (topology.Fleet, map[string]live.Shape, error) {
	fleet := r.scan(cl)
	if s.connection.Shaper == nil {
		return fleet, nil, nil
	}
	var names []string
	for _, a := range fleet.Advices {
		names = append(names, a.VM.Name)
	}
	now, err := s.connection.Shaper.Shapes(ctx, names)
	if err != nil {
		return fleet, nil, err
	}
	for _, shape := range now {
		if (shape.NodePerSocket || shape.Cells) && !r.given("vnuma-min") {
			r.options.VNUMAMin = 1
			return r.scan(cl), now, nil
		}
	}
	return fleet, now, nil
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
			return h.carryOut(ctx, s, cl, outline{plan: p, changes: p.Possible()})
		})
	}
	ctx, stop := stoppable(ctx)
	defer stop()
	s, err := h.from.open(ctx)
	if err != nil {
		return err
	}
	_, p, err := r.look(ctx, s, args)
	if err := s.close(err); err != nil {
		return err
	}
	return h.from.clusters.Tell(p, h.asJSON)
}

func (r *reshaper) look(ctx context.Context, s *session, only []string) (*cluster.Cluster, *reshape.Report, error) {
	cl, err := s.look(ctx, r.hand.from.observe)
	if err != nil {
		return nil, nil, err
	}
	for _, name := range only {
		if _, err := findVM(cl, name); err != nil {
			return nil, nil, err
		}
	}
	p, err := r.plan(ctx, s, cl, only)
	return cl, p, err
}
