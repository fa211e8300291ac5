package doctor

import (
	"fmt"
	"io"
	"math"
	"strings"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/doctor/pools"
	"plimsoll/internal/cluster/doctor/words"
	"plimsoll/internal/column"
)

// Text writes the report for an operator: one statement per line, for searches and comparisons
// with earlier reports.
func (r *Report) Text(w io.Writer) error {
	b := &strings.Builder{}
	r.textHead(b)
	r.textLast(b)
	r.textHosts(b)
	r.textEntitled(b)
	words.Section(b, "Violated hard constraints", r.Broken)
	r.textMoves(b)
	words.Section(b, "Stranded", Texts(r.Stranded))
	r.textRemaining(b)
	r.textRefused(b)
	r.textWarnings(b)
	_, err := io.WriteString(w, b.String())
	return err
}

// textHead is the summary.
func (r *Report) textHead(b *strings.Builder) {
	fmt.Fprintf(b, "%s: %s, %s running", r.Cluster, words.Count(len(r.Hosts), "host"), words.Count(r.VMs, "VM"))
	if r.Waiting > 0 {
		fmt.Fprintf(b, ", %d to place", r.Waiting)
	}
	fmt.Fprintf(b, ", level %d", r.Level)
	if r.Round == 0 && r.At != "" {
		b.WriteString("; snapshot of " + r.At)
	}
	if r.Round > 0 {
		fmt.Fprintf(b, "; round %d%s", r.Round, when(r.At))
		if r.Known {
			b.WriteString(", already in the ledger")
		}
	}
	fmt.Fprintf(b, "\n%.2f %% of the work is slowed down or not served", 100*r.Lost[0])
	if n := len(r.Moves); n > 0 {
		fmt.Fprintf(b, "; after the %s below it would be %.2f %%", words.Count(n, "move"), 100*r.Lost[1])
	}
	b.WriteString(".\n")
	if n := len(r.Broken); n > 0 {
		fmt.Fprintf(b, "%s %s violated%s.\n", words.Count(n, "hard constraint"), words.Verb(n, "is", "are"), afterMoves(len(r.Remaining)))
	}
	if n := len(r.Stranded); n > 0 {
		fmt.Fprintf(b, "%s must move, but cannot.\n", words.Count(n, "VM"))
	}
	if n := len(r.Warnings); n > 0 {
		fmt.Fprintf(b, "%s, at the end.\n", words.Count(n, "warning"))
	}
}

// afterMoves tells how many hard constraints remain violated after the moves.
func afterMoves(n int) string {
	if n == 0 {
		return "; after the moves none"
	}
	return fmt.Sprintf("; after the moves %d", n)
}

// textRemaining lists the violations that the moves do not repair, with the reason per VM.
func (r *Report) textRemaining(b *strings.Builder) {
	var lines []string
	for _, v := range r.Remaining {
		lines = append(lines, v.Text)
		for _, vm := range v.VMs {
			lines = append(lines, "  "+vm.Text)
		}
	}
	words.Section(b, "Violated after the moves", lines)
}

func when(at string) string {
	if at == "" {
		return ""
	}
	return " of " + at
}

func (r *Report) textHosts(b *strings.Builder) {
	b.WriteString("\nHosts\n")
	t := column.NewTable(b)
	fmt.Fprintln(t, "  host\tVMs\tCPU\t\tmemory\t\tentitled\treserved")
	for _, h := range r.Hosts {
		name := h.Name
		if h.State != string(cluster.Connected) {
			name += " (" + h.State + ")"
		}
		fmt.Fprintf(t, "  %s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", name, change(float64(h.VMs[0]), float64(h.VMs[1]), ""),
			bar(h.CPU[0]), change(100*h.CPU[0], 100*h.CPU[1], " %"), bar(h.Memory[0]), change(100*h.Memory[0], 100*h.Memory[1], " %"),
			both(h.Entitled), both(h.Reserved))
	}
	t.Flush() //nolint:errcheck // a builder takes everything
}

// both are the shares of a host's CPU and memory.
func both(share [2]float64) string { return fmt.Sprintf("%.0f, %.0f %%", 100*share[0], 100*share[1]) }

// barWidth is the length of the bar of a fully loaded host.
const barWidth = 6

// bar draws a load; a load above the capacity extends beyond the end.
func bar(share float64) string {
	n := int(math.Round(math.Max(0, math.Min(share, 2)) * barWidth))
	if n > barWidth {
		return strings.Repeat("#", barWidth) + "+"
	}
	return strings.Repeat("#", n) + strings.Repeat(".", barWidth-n)
}

// change is a number, with its new value if that differs.
func change(before, after float64, unit string) string {
	one, two := fmt.Sprintf("%.0f", before), fmt.Sprintf("%.0f", after)
	if one == two {
		return one + unit
	}
	return one + " -> " + two + unit
}

func (r *Report) textEntitled(b *strings.Builder) {
	if len(r.Pools) > 0 {
		b.WriteString("\nPools\n")
		pools.Table(b, "  ", r.Pools)
	}
	var lines []string
	for _, s := range r.Short {
		var says []string
		if s.Demand.CPU > s.Entitled.CPU {
			says = append(says, fmt.Sprintf("%d of the %d MHz", s.Entitled.CPU, s.Demand.CPU))
		}
		if s.Demand.Memory > s.Entitled.Memory {
			says = append(says, fmt.Sprintf("%s of the %s of memory", cluster.MiB(s.Entitled.Memory), cluster.MiB(s.Demand.Memory)))
		}
		lines = append(lines, fmt.Sprintf("%s on %s in pool %s is entitled to %s that it demands", s.VM, s.Host, s.Pool, strings.Join(says, " and ")))
	}
	if r.Shorter > 0 {
		lines = append(lines, fmt.Sprintf("and %d more (plimsoll cluster show --vms)", r.Shorter))
	}
	words.Section(b, "Entitled to less than their demand", lines)
}

func (r *Report) textMoves(b *strings.Builder) {
	if len(r.Moves) == 0 {
		return
	}
	fmt.Fprintf(b, "\nMoves\n")
	for _, m := range r.Moves {
		from := ""
		if m.From != "" {
			from = " from " + m.From
		}
		fmt.Fprintf(b, "  %d. %s%s to %s: %s\n", m.Step, m.VM, from, m.To, m.Why)
		fmt.Fprintf(b, "     evidence: %s\n", m.Evidence)
		fmt.Fprintf(b, "     effect: %s\n", m.Effect)
		if m.Value != "" {
			fmt.Fprintf(b, "     worth: %s\n", m.Value)
		}
		for _, a := range m.Alternatives {
			fmt.Fprintf(b, "     not %s: %s\n", a.Host, a.Why)
		}
	}
}

func (r *Report) textRefused(b *strings.Builder) {
	if r.Quiet == "" && len(r.Refused) == 0 {
		return
	}
	title := "Why nothing moves"
	if len(r.Moves) > 0 {
		title = "Why nothing more moves"
	}
	fmt.Fprintf(b, "\n%s\n  %s\n", title, r.Quiet)
	for i := 0; i < len(r.Refused); {
		why, from := r.Refused[i].Why, i
		var moves []string
		for ; i < len(r.Refused) && r.Refused[i].Why == why; i++ {
			f := &r.Refused[i]
			moves = append(moves, fmt.Sprintf("%s from %s to %s", f.VM, f.From, f.To))
		}
		if from == 0 && strings.HasSuffix(r.Quiet, why) {
			if moves = moves[1:]; len(moves) == 0 {
				continue // included in an earlier line
			}
			why = "for the same reason"
		}
		fmt.Fprintf(b, "  not %s: %s\n", strings.Join(moves, ", nor "), why)
	}
}

func (r *Report) textWarnings(b *strings.Builder) {
	if len(r.Warnings) == 0 {
		return
	}
	b.WriteString("\nWarnings\n")
	for _, w := range r.Warnings {
		fmt.Fprintf(b, "  %s: %s\n", w.Kind, w.Text)
		if w.Do != "" {
			fmt.Fprintf(b, "     do: %s\n", w.Do)
		}
	}
}
