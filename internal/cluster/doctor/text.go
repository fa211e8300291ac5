package doctor

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// Text writes the report for an operator.
func (r *Report) Text(w io.Writer) error {
	b := &strings.Builder{}
	fmt.Fprintf(b, "%s: %d hosts", r.Cluster, len(r.Hosts))
	if r.Waiting > 0 {
		fmt.Fprintf(b, ", %d machines wait for one", r.Waiting)
	}
	fmt.Fprintf(b, "\n%.2f %% of the demand is slowed down or not served", 100*r.Lost[0])
	if len(r.Moves) > 0 {
		fmt.Fprintf(b, "; after the moves below it is %.2f %%", 100*r.Lost[1])
	}
	b.WriteString(".\n\n")
	r.textHosts(b)
	section(b, "Broken", r.Broken)
	r.textMoves(b)
	section(b, "Stranded", r.Stranded)
	r.textRefused(b)
	var list []string
	for _, v := range r.Warnings {
		list = append(list, v.Kind+": "+v.Text+". "+v.Do)
	}
	section(b, "Worth a look", list)
	_, err := io.WriteString(w, b.String())
	return err
}

func section(b *strings.Builder, title string, lines []string) {
	if len(lines) == 0 {
		return
	}
	fmt.Fprintf(b, "\n%s\n", title)
	for _, l := range lines {
		fmt.Fprintf(b, "  %s\n", l)
	}
}

func (r *Report) textHosts(b *strings.Builder) {
	t := tabwriter.NewWriter(b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "host\tstate\tmachines\tCPU\tmemory\treserved CPU\tmemory\t")
	for _, h := range r.Hosts {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%.0f %%\t%.0f %%\t\n", h.Name, h.State, change(float64(h.VMs[0]), float64(h.VMs[1]), ""),
			change(100*h.CPU[0], 100*h.CPU[1], " %"), change(100*h.Memory[0], 100*h.Memory[1], " %"), 100*h.Reserved[0], 100*h.Reserved[1])
	}
	t.Flush() //nolint:errcheck // a builder takes everything
}

// change is a number, and what it becomes where that is another.
func change(before, after float64, unit string) string {
	one, two := fmt.Sprintf("%.0f", before), fmt.Sprintf("%.0f", after)
	if one == two {
		return one + unit
	}
	return one + " -> " + two + unit
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
	for _, f := range r.Refused {
		if strings.HasSuffix(r.Quiet, f.Why) {
			continue // said
		}
		fmt.Fprintf(b, "  not %s from %s to %s: %s\n", f.VM, f.From, f.To, f.Why)
	}
}
