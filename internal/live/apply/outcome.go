package apply

import (
	"context"
	"fmt"

	"plimsoll/internal/cluster"
	"plimsoll/internal/live"
)

// Outcome is what came of a change.
type Outcome struct {
	Change
	What    Fate    `json:"what"`
	Found   string  `json:"found,omitempty"` // the host of the VM, or the state of the host, when it was read back
	Seconds float64 `json:"seconds,omitempty"`
	Error   string  `json:"error,omitempty"` // of the platform
}

// Fate is what came of a change.
type Fate string

// What can come of a change.
const (
	Made     Fate = "made"
	NotMade  Fate = "not made"  // all is as before
	Unknown  Fate = "unknown"   // the VM is elsewhere or gone, or it could not be read back
	NotBegun Fate = "not begun" // the plan was stopped before
)

// nothing is what is found of a VM that does not run.
const nothing = ""

// find reads back from a view. It reports whether the change is seen to be made.
func (o *Outcome) find(v *view) bool {
	if o.Action == live.Reshape {
		return false // no watch shows it
	}
	o.Found = nothing
	if o.places() {
		o.Found = v.at[o.VM]
		return o.Found == o.To
	}
	for i := range v.c.Hosts {
		if h := &v.c.Hosts[i]; h.Name == o.Host {
			o.Found = string(h.State)
		}
	}
	return (o.Found == string(cluster.Maintenance)) == o.Enter && o.Found != nothing
}

// judge tells what came of a change by what was found.
func (o *Outcome) judge() {
	made := o.Found == o.To
	before := o.Found == o.From
	if o.Action == live.Maintain {
		in := o.Found == string(cluster.Maintenance)
		made, before = o.Found != nothing && in == o.Enter, o.Found != nothing && in != o.Enter
	}
	switch {
	case made:
		o.What = Made
	case before:
		o.What = NotMade
	default:
		o.What = Unknown
	}
}

// settle reads a change back from the cluster as it is now, also after the context has ended.
func (o *Outcome) settle(ctx context.Context, a Applier) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), a.Patience)
	defer cancel()
	if o.Action == live.Reshape {
		o.reread(ctx, a)
		return
	}
	c, err := look(ctx, a.Connection.Source)
	if err != nil {
		if o.What, o.Found = Unknown, nothing; o.Error == "" {
			o.Error = err.Error()
		}
		return
	}
	o.find(newView(c))
	o.judge()
}

// where says where the VM of a move, or in which state a host was found.
func (o *Outcome) where() string {
	switch {
	case o.Action == live.Reshape && o.Found == nothing:
		return o.VM + " no longer exists, or cannot be read"
	case o.Action == live.Reshape:
		return fmt.Sprintf("%s has %q", o.VM, o.Found)
	case o.Action == live.Maintain && o.Found == nothing:
		return o.Host + " is no longer part of the cluster"
	case o.Action == live.Maintain:
		return o.Host + " is " + o.Found
	case o.Found == nothing && o.Action == live.Power:
		return o.VM + " is off"
	case o.Found == nothing:
		return o.VM + " was not found running"
	}
	return o.VM + " is on " + o.Found
}
