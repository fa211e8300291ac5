package apply

import (
	"fmt"
	"io"
	"strings"

	"plimsoll/internal/live"
)

// Result is the changes made and not made.
type Result struct {
	Cluster string    `json:"cluster"`
	Journal string    `json:"journal,omitempty"` // empty if there was nothing to do
	Undoes  string    `json:"undoes,omitempty"`
	Changes []Outcome `json:"changes"`
	Stopped string    `json:"stopped,omitempty"` // the unexpected event that ended it
	Left    []string  `json:"left,omitempty"`    // VMs and hosts that an undo leaves alone, with reasons
}

func (r *run) result() *Result {
	out := &Result{Cluster: r.plan.Seen.Name, Journal: r.a.Journal, Undoes: r.plan.Undoes, Stopped: r.stopped}
	for i, o := range r.outcomes {
		if o == nil {
			o = &Outcome{Change: r.plan.Changes[i], What: NotBegun}
		}
		out.Changes = append(out.Changes, *o)
	}
	return out
}

// Made counts the changes that were made.
func (r *Result) Made() (n int) {
	for _, o := range r.Changes {
		if o.What == Made {
			n++
		}
	}
	return n
}

// Text writes the result for operators.
func (r *Result) Text(w io.Writer) error {
	var b strings.Builder
	switch {
	case len(r.Changes) == 0 && len(r.Left) > 0:
		fmt.Fprintln(&b, "Nothing was changed.")
	case len(r.Changes) == 0 && r.Undoes != "":
		fmt.Fprintln(&b, "There is nothing to undo.")
	case len(r.Changes) == 0:
		fmt.Fprintln(&b, "There was nothing to change.")
	default:
		fmt.Fprintf(&b, "%d of %d changes made\n", r.Made(), len(r.Changes))
	}
	for _, o := range r.Changes {
		fmt.Fprintf(&b, "  %s\n", o.text())
	}
	for _, l := range r.Left {
		fmt.Fprintf(&b, "  left alone: %s\n", l)
	}
	if r.Stopped != "" {
		fmt.Fprintf(&b, "Stopped: %s\n", r.Stopped)
	}
	if r.Journal != "" && r.Made() > 0 {
		fmt.Fprintf(&b, "To undo: plimsoll cluster undo %s --live URL\n", r.Journal)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// text is an outcome on one line.
func (o *Outcome) text() string {
	s := fmt.Sprintf("%-9s  %s", o.What, o.Change)
	if o.What == Made && o.Error == "" {
		return s + fmt.Sprintf(" (%.1f s)", o.Seconds)
	}
	if o.What == NotBegun {
		return s
	}
	if o.Error != "" {
		s += ": " + o.Error
	}
	if o.What != Made || o.Action != live.Maintain {
		s += "; " + o.where()
	}
	return s
}
