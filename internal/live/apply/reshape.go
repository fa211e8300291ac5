package apply

import (
	"context"
	"fmt"
	"time"

	"plimsoll/internal/cluster/topology"
	"plimsoll/internal/live"
)

// reshape changes the virtual topology of a VM.
func (a Applier) reshape(ctx context.Context, c Change) error {
	from, err := topology.ParseSetting(c.From)
	if err != nil {
		return err
	}
	to, err := topology.ParseSetting(c.To)
	if err != nil {
		return err
	}
	return a.Connection.Shaper.Reshape(ctx, c.VM, from, to)
}

// unshaped is why the topology of a VM cannot be changed; empty if it can.
func (a Applier) unshaped(ctx context.Context, c Change) (surprise string) {
	wait, cancel := context.WithTimeout(ctx, a.Patience)
	defer cancel()
	now, err := a.Connection.Shaper.Shapes(wait, []string{c.VM})
	shape, there := now[c.VM]
	switch {
	case ctx.Err() != nil:
		return "interrupted"
	case err != nil:
		return err.Error()
	case !there:
		return fmt.Sprintf("%s no longer exists", c.VM)
	case shape.String() != c.From:
		return fmt.Sprintf("%s has %q, not %q: somebody changed it", c.VM, shape.Setting, c.From)
	case shape.Fixed != "":
		return fmt.Sprintf("%s is not changed: %s", c.VM, shape.Fixed)
	case shape.Busy != "":
		return fmt.Sprintf("%s cannot be changed: %s", c.VM, shape.Busy)
	}
	return ""
}

// reread reads the topology of a VM back.
func (o *Outcome) reread(ctx context.Context, a Applier) {
	now, err := a.Connection.Shaper.Shapes(ctx, []string{o.VM})
	if o.Found = nothing; err != nil {
		if o.What = Unknown; o.Error == "" {
			o.Error = err.Error()
		}
		return
	}
	if shape, there := now[o.VM]; there {
		o.Found = shape.String()
	}
	o.judge()
}

// lookAgain is the interval between readings of a change that may still be in progress.
const lookAgain = time.Second

// awaitShape reads back the outcome of a change that a killed program began at a given time.
// The change may still be in progress: an unchanged VM is not the outcome until the patience
// has passed.
func (a Applier) awaitShape(ctx context.Context, o *Outcome, begun time.Time) error {
	if a.Connection.Shaper == nil {
		return &Refused{"this platform cannot change virtual topologies"}
	}
	tick := time.NewTicker(lookAgain)
	defer tick.Stop()
	for {
		if o.reread(ctx, a); ctx.Err() != nil {
			return ctx.Err()
		}
		if o.What == Made || o.What == Unknown && o.Found != nothing || time.Since(begun) >= a.Patience {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}

// shapes reads the topologies of the VMs that a journal changed.
func (a Applier) shapes(ctx context.Context, j *Journal) (map[string]live.Shape, error) {
	var vms []string
	for _, o := range j.Begun {
		if o.Action == live.Reshape {
			vms = append(vms, o.VM)
		}
	}
	switch {
	case len(vms) == 0:
		return nil, nil
	case a.Connection.Shaper == nil:
		return nil, &Refused{"this platform cannot change virtual topologies"}
	}
	now, err := a.Connection.Shaper.Shapes(ctx, vms)
	if err != nil {
		return nil, fmt.Errorf("read the topologies of VMs: %w", err)
	}
	return now, nil
}

// shaped reports whether a VM still has its new topology, or why it is left alone.
func shaped(o Outcome, now map[string]live.Shape) (made bool, left string) {
	shape, there := now[o.VM]
	switch is := shape.String(); {
	case !there:
		return false, o.VM + " no longer exists"
	case is == o.From:
		return false, ""
	case is != o.To:
		return false, fmt.Sprintf("%s has %q: somebody changed it since it got %q", o.VM, is, o.To)
	case shape.Fixed != "":
		return false, fmt.Sprintf("%s is not changed back: %s", o.VM, shape.Fixed)
	case shape.Busy != "":
		return false, fmt.Sprintf("%s cannot be changed back: %s; power it off and undo again", o.VM, shape.Busy)
	}
	return true, ""
}
