package warning

import (
	"fmt"
	"slices"
	"strings"

	"plimsoll/internal/cluster/doctor/words"
	"plimsoll/internal/cluster/topology"
)

// topologies finds VMs whose sockets were set for other hosts, or that do not see the NUMA
// nodes that they span. Improvements without a present cost are left to the command topology.
func topologies(s indexedCluster) (out []Warning) {
	f := topology.ScanIndexed(s.c, s.x, topology.Options{})
	for _, kind := range []struct {
		grade  topology.Grade
		name   string
		nth    int // index of the reported reason of the grade: the first of Stale is the target only
		advice string
	}{
		{topology.ExceedsHost, "larger than a host", 0, "give it fewer vCPUs or less memory; its vCPUs compete with each other"},
		{topology.HotAddFlat, "hidden NUMA", 0, "disable CPU hot-add where it is not needed"},
		{topology.Stale, "stale topology", 1, "plimsoll cluster topology SNAPSHOT VM recommends settings"},
	} {
		var names, says []string
		for _, a := range f.Advices {
			text := reasonText(a.Reasons, kind.grade, kind.nth)
			if text != "" {
				names = append(names, a.VM.Name)
				says = append(says, fmt.Sprintf("%s: %s", a.VM.Name, text))
			}
		}
		if len(says) > 0 {
			out = append(out, Warning{Kind: kind.name, VMs: names, Text: words.Several(says), Do: kind.advice})
		}
	}
	return out
}

// reasonText is the reason of a grade at an index; empty beyond the last.
func reasonText(reasons []topology.Reason, g topology.Grade, nth int) string {
	own := slices.DeleteFunc(slices.Clone(reasons), func(r topology.Reason) bool { return r.Grade != g })
	if nth >= len(own) {
		return ""
	}
	text, _, _ := strings.Cut(own[nth].Text, ": turn that off") // already in the advice
	return text
}
