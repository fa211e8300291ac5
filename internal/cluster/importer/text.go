package importer

import (
	"fmt"
	"io"
	"strings"
)

// Text writes the result of an import.
func (r *Result) Text(w io.Writer) error {
	var b strings.Builder
	h := &r.Cluster.Hosts[0]
	fmt.Fprintf(&b, "%s: %d VMs, %d of them exist %s after the beginning, and %d arrive later; it ends after %s\n",
		r.Format, r.VMs, r.Running, days(r.At), r.Later, days(r.Ends))
	hosts := "hosts"
	if r.Hosts == 1 {
		hosts = "host"
	}
	fmt.Fprintf(&b, "%d %s of %d cores at %d MHz and %d GiB; ", r.Hosts, hosts, h.Cores(), h.MHz, h.Memory>>30)
	switch r.Waiting {
	case 0:
		b.WriteString("VMs are assigned to hosts by plimsoll, as the trace does not contain hosts\n")
	case r.Running:
		b.WriteString("every VM waits for one\n")
	default:
		fmt.Fprintf(&b, "%d VMs wait for one\n", r.Waiting)
	}
	for _, warning := range r.Warnings {
		fmt.Fprintf(&b, "note: %s\n", warning)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// days is a duration in days as text.
func days(seconds int64) string {
	switch {
	case seconds%86_400 == 0 && seconds > 0:
		return fmt.Sprintf("%d d", seconds/86_400)
	case seconds >= 2*86_400:
		return fmt.Sprintf("%.1f d", float64(seconds)/86_400)
	case seconds >= 2*3_600:
		return fmt.Sprintf("%.1f h", float64(seconds)/3_600)
	}
	return fmt.Sprintf("%d s", seconds)
}
