package pools

import (
	"fmt"
	"io"
	"strings"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/doctor/words"
	"plimsoll/internal/column"
)

const (
	mostOps   = 12 // maximum operations reported per host, unless it was requested by name
	mostSyncs = 20 // hosts whose operations are reported
)

// Text writes the counts of all hosts, and then the operations of each, up to a maximum.
func (s *Sync) Text(w io.Writer) error {
	b := &strings.Builder{}
	busy := 0
	for i := range s.Hosts {
		if len(s.Hosts[i].Ops) > 0 {
			busy++
		}
	}
	fmt.Fprintf(b, "%s -> %s: %s on %d of %s, %d by rebuilding them; %s in equal parts skipped\n\n", s.Before, s.After,
		words.Count(s.Ops, "operation"), busy, words.Count(len(s.Hosts), "host"), s.Rebuild, words.Count(s.Skipped, "pool"))
	t := column.NewTable(b)
	fmt.Fprintln(t, "host\toperations\tby a rebuild\tpools\tskipped")
	for i := range s.Hosts {
		h := &s.Hosts[i]
		name := h.Host
		if h.New {
			name += " (new)"
		}
		fmt.Fprintf(t, "%s\t%d\t%d\t%d\t%d\n", name, len(h.Ops), h.Rebuild, h.Pools, h.Skipped)
	}
	t.Flush() //nolint:errcheck // a builder takes everything
	told := 0
	for i := range s.Hosts {
		h := &s.Hosts[i]
		if len(h.Ops) > 0 && told < mostSyncs {
			told++
			words.Section(b, h.Host, h.lines(s.all))
		}
	}
	if busy > told {
		fmt.Fprintf(b, "\nand %d more hosts(--host NAME lists one, --json all)\n", busy-told)
	}
	if len(s.Gone) > 0 {
		words.Section(b, "Removed hosts", s.Gone)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (h *HostSync) lines(all bool) (out []string) {
	for i := range h.Ops {
		if i == mostOps && !all && len(h.Ops) > mostOps+1 {
			return append(out, fmt.Sprintf("and %d more (--host %s lists all)", len(h.Ops)-i, h.Host))
		}
		out = append(out, fmt.Sprintf("%d. %s", i+1, h.Ops[i].said()))
	}
	return out
}

// said is an operation as text.
func (o *SyncOp) said() string {
	b := &strings.Builder{}
	if b.WriteString(o.Verb); o.VM != "" {
		fmt.Fprintf(b, " %s, pool %s", o.VM, o.Pool)
	} else {
		b.WriteString(" " + o.Pool)
	}
	if o.Parent != "" {
		b.WriteString(", in " + o.Parent)
	}
	if o.Name != "" {
		b.WriteString(", called " + o.Name)
	}
	mhz := func(n int64) string { return fmt.Sprintf("%d MHz", n) }
	for _, a := range []struct {
		name string
		*SyncAmount
		says func(int64) string
	}{{"CPU", o.CPU, mhz}, {"memory", o.Memory, cluster.MiB}} {
		if a.SyncAmount == nil {
			continue
		}
		fmt.Fprintf(b, "; %s %s reserved", a.name, a.says(a.Reservation))
		if a.Limit != nil {
			fmt.Fprintf(b, ", at most %s", a.says(*a.Limit))
		}
		fmt.Fprintf(b, ", %s", words.Count(int(a.Shares), "share"))
	}
	return b.String()
}
