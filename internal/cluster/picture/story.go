package picture

import (
	"fmt"
	"strings"

	"plimsoll/internal/cluster/doctor"
)

// when is the round of a ledger, and the time of the snapshot.
func when(r *doctor.Report) string {
	var parts []string
	if r.Round > 0 {
		parts = append(parts, fmt.Sprintf("round %d", r.Round))
	}
	if r.At != "" {
		parts = append(parts, clean(r.At))
	}
	return strings.Join(parts, ", ")
}

// shortfalls are the VMs entitled to less than their demand.
func shortfalls(r *doctor.Report) []line {
	var out []line
	for _, s := range r.Short {
		var says []string
		if s.Demand.CPU > s.Entitled.CPU {
			says = append(says, mhz(s.Entitled.CPU)+" of the "+mhz(s.Demand.CPU))
		}
		if s.Demand.Memory > s.Entitled.Memory {
			says = append(says, bytesText(s.Entitled.Memory)+" of the "+bytesText(s.Demand.Memory)+" of memory")
		}
		out = append(out, line{Name: clean(s.VM), Text: clean("on "+s.Host+" in pool "+s.Pool) + ", entitled to " + strings.Join(says, " and ") + " that it demands."})
	}
	if r.Shorter > 0 {
		out = append(out, line{Text: "And " + count(r.Shorter) + " more: plimsoll cluster show --vms lists them."})
	}
	return out
}

// outcome is the outcome of the previous round.
func outcome(r *doctor.Report) []line {
	o := r.Last
	if o == nil {
		return nil
	}
	text := "It recommended no move."
	if n := len(o.Moves); n > 0 {
		text = fmt.Sprintf("%s of %s made, %s not, %s to another host, %s of a VM that no longer runs.",
			count(o.Summary.Made), plural(n, "recommended move", "recommended moves"), count(o.Summary.NotMade), count(o.Summary.Elsewhere), count(o.Summary.Gone))
	}
	out := []line{{Name: "Moves", Text: text}, {Name: "Work lost", Text: lost(o.Lost.Predicted) + " predicted, " + lost(o.Lost.Seen) + " seen."}}
	if s := &o.Summary; s.Judged > 0 {
		out = append(out, line{Name: "Loads of hosts", Text: fmt.Sprintf("the median error of predicted loads was %.1f points, the maximum %.1f.", s.Median, s.Largest)})
	}
	for _, m := range o.Moves {
		if m.What != doctor.Made {
			out = append(out, line{Name: capital(clean(string(m.What))), Text: sentence(m.VM+" from "+m.From+" to "+m.To, false)})
		}
	}
	for _, m := range o.Others {
		out = append(out, line{Name: "Nobody recommended", Text: sentence(m.VM+" from "+m.From+" to "+m.To, false)})
	}
	return out
}
