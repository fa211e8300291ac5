package topology

import (
	"bytes"
	"fmt"
	"io"
)

// Text is the recommendation as text: the settings, then the reasons.
func (a Advice) Text() string {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s: %s\n", a.VM.Name, a.Grade)
	now := ""
	if n := a.VM.CoresPerSocket; n > 0 && n != a.CoresPerSocket {
		now = fmt.Sprintf(" (now %s of %s)", count(up(a.VM.VCPUs, n), "socket"), count(n, "core"))
	}
	fmt.Fprintf(&b, "  %s as %s of %s%s\n", count(a.VM.VCPUs, "vCPU"), count(a.Sockets, "socket"), count(a.CoresPerSocket, "core"), now)
	var sizes []int
	for _, n := range a.Nodes {
		sizes = append(sizes, n.VCPUs)
	}
	switch {
	case len(a.Nodes) == 1:
		fmt.Fprintf(&b, "  1 node\n")
	case a.Exposed:
		fmt.Fprintf(&b, "  %d nodes that the guest sees: %s vCPUs, %s of memory each\n", len(a.Nodes), list(sizes), memory(a.Nodes[0].Memory))
	default:
		fmt.Fprintf(&b, "  %d nodes that the guest does not see: %s vCPUs\n", len(a.Nodes), list(sizes))
	}
	for _, r := range a.Reasons {
		mark := ""
		if r.Grade != Aligned {
			mark = r.Grade.String() + ": "
		}
		fmt.Fprintf(&b, "  - %s%s [%s]\n", mark, r.Text, r.Rule)
	}
	return b.String()
}

// WriteText writes the summary of a fleet, its VMs that are not aligned, those without a
// recommendation, and the rules.
func (f Fleet) WriteText(w io.Writer) error {
	if len(f.Advices)+len(f.Unjudged) == 0 {
		_, err := fmt.Fprintf(w, "The cluster %s has no VMs.\n", f.Cluster)
		return err
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "%-14s %8s %8s\n", "grade", "VMs", "vCPUs")
	for _, s := range f.Summary {
		if s.VMs > 0 {
			fmt.Fprintf(&b, "%-14s %8d %8d\n", s.Grade, s.VMs, s.VCPUs)
		}
	}
	for _, a := range f.Advices {
		if a.Grade != Aligned {
			fmt.Fprintf(&b, "\n%s", a.Text())
		}
	}
	for i, u := range f.Unjudged {
		if i == 0 {
			fmt.Fprintf(&b, "\nnot judged:\n")
		}
		fmt.Fprintf(&b, "  %s: %s\n", u.Name, u.Why)
	}
	fmt.Fprintf(&b, "\nrules:\n")
	for _, r := range rules {
		fmt.Fprintf(&b, "  %-4s %s (%s)\n", r.ID, r.Text, r.Source)
	}
	if _, err := w.Write(b.Bytes()); err != nil {
		return fmt.Errorf("write the topologies of the fleet: %w", err)
	}
	return nil
}
