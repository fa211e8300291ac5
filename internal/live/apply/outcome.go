package apply

import (
	"context"
	"fmt"

	"plimsoll/internal/cluster"
	"plimsoll/internal/live"
)

// Outcome is the outcome of a change.
type Outcome struct {
	Change
	What    OutcomeKind `json:"what"`
	Found   string      `json:"found,omitempty"` // host of the VM, or state of the host, on read-back
	Seconds float64     `json:"seconds,omitempty"`
	Error   string      `json:"error,omitempty"` // of the platform
}

// OutcomeKind is the kind of outcome of a change.
type OutcomeKind string

// The outcomes of a change.
const (
	Made     OutcomeKind = "made"
	NotMade  OutcomeKind = "not made"  // all is as before
	Unknown  OutcomeKind = "unknown"   // the VM is elsewhere or gone, or the read-back failed
	NotBegun OutcomeKind = "not begun" // the plan was stopped before
)

// nothing is the read-back of a VM that is not running.
const nothing = ""

// find reads back from a view. It reports whether the change is visible.
func (o *Outcome) find(v *view) bool {
	if o.Action == live.Reshape {
		return false // no watch reports it
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

// judge derives the outcome of a change from the read-back.
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

// settle reads a change back from the present cluster, even after the end of the context.
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

// where is the host of a moved VM, or the state of a host, on read-back.
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
