package sca

import (
	"fmt"
	"io"
	"strings"

	"plimsoll/internal/cluster/snapshot/unit"
	"plimsoll/internal/column"
)

// Text writes the report for an operator: a table of the policies per kind of host, then
// caveats and published figures.
func (r *Report) Text(w io.Writer) error {
	b := &strings.Builder{}
	by := "is assumed to do"
	if _, measured := (Model{Measured: r.Measured}).saturated(V1); measured {
		by = "does, by the measured loss of scav1,"
	}
	fmt.Fprintf(b, "%s: host capacity under side-channel-aware scheduling; a core with both threads busy %s %d.%02d times the work of one thread\n",
		r.Cluster, by, r.Yield/1000, r.Yield%1000/10)
	for i := range r.Kinds {
		r.Kinds[i].text(b)
	}
	r.caveats(b)
	if len(r.Measured) > 0 {
		b.WriteString("\nMeasured, as given\n")
	}
	for _, p := range r.Measured {
		fmt.Fprintf(b, "  %s, %s: %s less than by default\n", p.Policy, unit.PerMille(p.Load), unit.PerMille(p.Loss))
	}
	b.WriteString("\nPublished for other hosts\n")
	for _, f := range r.Published {
		fmt.Fprintf(b, "  %s, %s: %s (%s)\n", f.Policy, f.Load, f.Text, f.Source)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// mostNamed is the maximum number of hosts named per kind.
const mostNamed = 4

func (k *Kind) text(b *strings.Builder) {
	named := strings.Join(k.Hosts[:min(len(k.Hosts), mostNamed)], ", ")
	if more := len(k.Hosts) - mostNamed; more > 0 {
		named += fmt.Sprintf(" and %d more", more)
	}
	fmt.Fprintf(b, "\n%s: %d cores of %d MHz with %d threads each\n", named, k.Cores, k.MHz, k.Threads)
	if len(k.Mix) > 0 {
		var sizes []string
		for _, g := range k.Mix {
			size := fmt.Sprintf("%d of %d vCPUs", g.Count, g.VCPUs)
			if g.VCPUs == 1 {
				size = strings.TrimSuffix(size, "s")
			}
			sizes = append(sizes, size)
		}
		fmt.Fprintf(b, "  VMs: %s; demand %d MHz", strings.Join(sizes, ", "), k.Asked)
		if len(k.Hosts) > 1 {
			b.WriteString(" a host")
		}
		if k.Why == "" {
			fmt.Fprintf(b, ", %s of the default capacity", unit.PerMille(k.Load))
		}
		b.WriteString("\n")
	}
	if k.Why != "" {
		fmt.Fprintf(b, "  no estimate: %s\n", k.Why)
		return
	}
	if k.Factor != 1000 {
		fmt.Fprintf(b, "  the snapshot has factor: %s\n", unit.PerMille(k.Factor))
	}
	k.table(b)
}

func (k *Kind) table(b *strings.Builder) {
	t := column.NewTable(b)
	single := k.Policies[0].Busy != nil
	fmt.Fprint(t, "  policy\tin the snapshot\tcapacity\tunserved demand")
	if single {
		fmt.Fprint(t, "\twork with every vCPU busy\tidle threads")
	}
	fmt.Fprintln(t)
	for _, o := range k.Policies {
		fmt.Fprintf(t, "  %s\tfactor: %s\t%d MHz\t%s", o.Policy, unit.PerMille(o.Factor), o.CPU, o.Lost)
		if single {
			fmt.Fprintf(t, "\t%.1f cores, %s\t%d", float64(o.Busy.Work)/1000, unit.PerMille(o.Busy.Relative), o.Busy.Idle)
		}
		fmt.Fprintln(t)
	}
	t.Flush() //nolint:errcheck // a builder takes everything
}

// caveats writes each caveat once, with its policies.
func (r *Report) caveats(b *strings.Builder) {
	seen := map[string]bool{}
	for _, p := range policies {
		for _, k := range r.Kinds {
			for _, o := range k.Policies {
				if o.Policy != p {
					continue
				}
				for _, text := range o.Caveats {
					line := fmt.Sprintf("  %s: %s\n", p, text)
					if seen[line] {
						continue
					}
					if len(seen) == 0 {
						b.WriteString("\nAssumptions\n  factor and capacity are those of a host full of such VMs; a loss is at least the shortfall of this capacity, and at most the measured one, which includes queueing: yours, or the published one\n")
					}
					seen[line] = true
					b.WriteString(line)
				}
			}
		}
	}
}
