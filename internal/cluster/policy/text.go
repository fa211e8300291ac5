package policy

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// mostNames is the maximum number of names listed per finding; further ones are counted.
const mostNames = 8

// Text writes the report for an operator.
func (r *Report) Text(w io.Writer) error {
	var b strings.Builder
	b.WriteString("Storage policy compliance\n\n")
	r.table(&b)
	for i := range r.Findings {
		b.WriteByte('\n')
		r.Findings[i].text(&b)
	}
	switch {
	case len(r.Policies) == 0:
		b.WriteString("\nNothing to do: there are no storage policies.\n")
	case len(r.Findings) == 0:
		b.WriteString("\nNothing to do: every object complies with its policy.\n")
	}
	if len(r.Doubts) > 0 {
		b.WriteString("\nDoubtful:\n")
	}
	for _, d := range r.Doubts {
		fmt.Fprintf(&b, "  %s\n", d)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (r *Report) table(b *strings.Builder) {
	names := []string{"VMs", "homes and disks"}
	counts := []Counts{r.VMs, r.Objects}
	for _, p := range r.Policies {
		name := fmt.Sprintf("  policy %s, version %d", p.Name, p.Generation)
		if p.Unlisted {
			name = fmt.Sprintf("  policy %s, not listed", p.Name)
		}
		names = append(names, name)
		counts = append(counts, p.Objects)
	}
	width := 0
	for _, n := range names {
		width = max(width, utf8.RuneCountInString(n))
	}
	fmt.Fprintf(b, "%-*s  %9s  %12s  %7s  %9s  %13s  %9s\n", width, "", Compliant, NonCompliant, Unknown, OutOfDate, NotApplicable, "all")
	for i, n := range names {
		k := counts[i]
		fmt.Fprintf(b, "%-*s  %9d  %12d  %7d  %9d  %13d  %9d\n", width, n,
			k.Compliant, k.NonCompliant, k.Unknown, k.OutOfDate, k.NotApplicable, k.All())
	}
}

func (f *Finding) text(b *strings.Builder) {
	on := " on " + f.Datastore
	if f.Datastore == "" {
		on = ""
	}
	fmt.Fprintf(b, "%s: policy %s%s, %s\n", f.Status, f.Policy, on, objects(len(f.Objects)))
	for i, reason := range f.Reasons {
		lead := "why: "
		if i > 0 {
			lead = "     "
		}
		fmt.Fprintf(b, "  %s%s\n", lead, reason)
	}
	if len(f.Misses) > 0 {
		if would := shortened(f.Elsewhere, ", "); would != "" {
			fmt.Fprintf(b, "  satisfied by: %s\n", would)
		} else {
			b.WriteString("  satisfied by: no datastore\n")
		}
	}
	fmt.Fprintf(b, "  objects: %s\n", shortened(f.members(), "; "))
}

// members are the objects, grouped by VM.
func (f *Finding) members() []string {
	var list []string
	for i, o := range f.Objects {
		if i > 0 && f.Objects[i-1].VM == o.VM {
			list[len(list)-1] += ", " + o.Object
			continue
		}
		list = append(list, o.VM+" "+o.Object)
	}
	return list
}

func objects(n int) string {
	if n == 1 {
		return "1 object"
	}
	return fmt.Sprintf("%d objects", n)
}

func shortened(list []string, between string) string {
	if len(list) <= mostNames {
		return strings.Join(list, between)
	}
	return fmt.Sprintf("%s%sand %d more", strings.Join(list[:mostNames], between), between, len(list)-mostNames)
}
