// Package reshape derives changes of virtual topologies from the recommendations for the VMs
// of a live cluster.
package reshape

import (
	"fmt"
	"io"

	"plimsoll/internal/cluster/topology"
	"plimsoll/internal/live"
	"plimsoll/internal/live/apply"
)

// Report is the recommendations for the VMs of a live cluster, and the derived changes.
type Report struct {
	topology.Fleet
	Changes []Proposal  `json:"changes"`
	Kept    []Unchanged `json:"kept,omitempty"` // VMs with a better topology that is not proposed
}

// Proposal is a change of a VM's topology.
type Proposal struct {
	VM   string `json:"name"`
	From string `json:"from"`
	To   string `json:"to"`
	Busy string `json:"busy,omitempty"` // why it cannot be made at present
}

// Unchanged is a VM without a proposed change, and why.
type Unchanged struct {
	VM  string `json:"name"`
	Why string `json:"why"`
}

// New compares the recommendations for VMs with their present topologies.
func New(fleet topology.Fleet, now map[string]live.Shape) *Report {
	r := &Report{Fleet: fleet, Changes: []Proposal{}}
	for _, a := range fleet.Advices {
		shape, there := now[a.VM.Name]
		if !there {
			continue
		}
		want, why := a.Change(shape.Present)
		switch {
		case shape.Fixed != "" && (why == "" || a.Grade >= topology.Odd):
			r.Kept = append(r.Kept, Unchanged{a.VM.Name, shape.Fixed})
		case why == "":
			r.Changes = append(r.Changes, Proposal{a.VM.Name, shape.String(), want.String(), shape.Busy})
		case a.Grade >= topology.Odd:
			r.Kept = append(r.Kept, Unchanged{a.VM.Name, why})
		}
	}
	return r
}

// Text writes the recommendations, then the changes.
func (r *Report) Text(w io.Writer) error {
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
	for i, group := range r.groups() {
		if i == 0 {
			line("\nno change is proposed:\n")
		}
		named := group[:min(len(group), mostNamed)]
		for j, k := range named {
			if j > 0 {
				line(", ")
			} else {
				line("  ")
			}
			line("%s", k.VM)
		}
		if more := len(group) - len(named); more > 0 {
			line(" and %d more", more)
		}
		line(": %s\n", group[0].Why)
	}
	return err
}

// mostNamed is the maximum number of VMs named per reason.
const mostNamed = 4

// groups are the VMs without a change, by reason.
func (r *Report) groups() (list [][]Unchanged) {
	at := map[string]int{}
	for _, k := range r.Kept {
		i, known := at[k.Why]
		if !known {
			i = len(list)
			at[k.Why], list = i, append(list, nil)
		}
		list[i] = append(list[i], k)
	}
	return list
}

// Possible are the changes that can be made at present.
func (r *Report) Possible() (list []apply.Change) {
	for _, p := range r.Changes {
		if p.Busy == "" {
			list = append(list, apply.Change{Number: len(list) + 1, Action: live.Reshape, VM: p.VM, From: p.From, To: p.To})
		}
	}
	return list
}
