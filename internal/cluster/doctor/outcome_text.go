package doctor

import (
	"fmt"
	"strings"

	"plimsoll/internal/cluster/doctor/words"
)

// textLast reports the outcome of the previous round.
func (r *Report) textLast(b *strings.Builder) {
	if o := r.Last; o != nil {
		fmt.Fprintf(b, "\nOutcome of the last round (%d%s)\n", o.Round, when(o.At))
		for _, line := range o.lines() {
			fmt.Fprintf(b, "  %s\n", line)
		}
	}
	if a := r.Record; a != nil && a.Rounds > 1 {
		fmt.Fprintf(b, "  over %d rounds: %d of %s made, %d undone, %d without recommendation%s\n",
			a.Rounds, a.Made, words.Count(a.Moves, "recommended move"), a.Undone, a.Others, judged(a.Judged, a.Median, a.Largest, ""))
	}
}

func judged(n int, median, largest float64, at string) string {
	if n == 0 {
		return "; no prediction could be checked"
	}
	if at != "" {
		at = " (" + at + ")"
	}
	return fmt.Sprintf("; error of predicted loads: median %.1f points, maximum %.1f%s", median, largest, at)
}

// lines are the outcome of a round, the summary first.
func (o *Outcome) lines() []string {
	s := &o.Summary
	out := []string{}
	if len(o.Moves) == 0 {
		out = append(out, "it recommended no move")
		if s.Reverted > 0 {
			out = append(out, fmt.Sprintf("%s of earlier rounds reverted", were(s.Reverted, "move")))
		}
	} else {
		text := fmt.Sprintf("%d of %s made", s.Made, words.Count(len(o.Moves), "recommended move"))
		for _, part := range []struct {
			n    int
			what string
		}{{s.NotMade, "not made"}, {s.Elsewhere, "to another host"}, {s.Gone, "no longer running"}, {s.Reverted, "of earlier rounds reverted"}} {
			if part.n > 0 {
				text += fmt.Sprintf(", %d %s", part.n, part.what)
			}
		}
		out = append(out, text+judged(s.Judged, s.Median, s.Largest, s.LargestAt))
	}
	out = append(out, fmt.Sprintf("work lost: %.2f %% predicted, %.2f %% observed (%+.2f points)", 100*o.Lost.Predicted, 100*o.Lost.Seen, o.Lost.Points()))
	for _, m := range o.Moves {
		out = append(out, m.String())
	}
	for _, h := range o.Hosts {
		text := fmt.Sprintf("%s: CPU %s; memory %s", h.Name, h.CPU, h.Memory)
		if h.Disturbed != "" {
			text += "; not counted: " + h.Disturbed
		}
		out = append(out, text)
	}
	for _, m := range o.Others {
		out = append(out, fmt.Sprintf("not recommended: %s from %s to %s", m.VM, m.From, m.To))
	}
	for _, m := range o.Explained {
		out = append(out, fmt.Sprintf("not recommended: %s from %s to %s, as %s", m.VM, m.From, m.To, m.Why))
	}
	if len(o.Came) > 0 {
		out = append(out, "came: "+strings.Join(o.Came, ", "))
	}
	if len(o.Went) > 0 {
		out = append(out, "went: "+strings.Join(o.Went, ", "))
	}
	return out
}

// String is the prediction as text.
func (p Predicted) String() string {
	return fmt.Sprintf("%.1f %% predicted, %.1f %% observed (%+.1f)", 100*p.Predicted, 100*p.Seen, p.Points())
}

// String describes the outcome of a move.
func (m MoveOutcome) String() string {
	from := ""
	if m.From != "" {
		from = " from " + m.From
	}
	text := fmt.Sprintf("%s: %s%s to %s (%s)", m.What, m.VM, from, m.To, m.Reason)
	switch m.What {
	case Elsewhere:
		text += ", but to " + m.Now
	case Gone:
		text += ": it no longer runs"
	}
	return text
}
