package warning

import (
	"fmt"
	"slices"
	"strings"

	"plimsoll/internal/cluster/doctor/words"
	"plimsoll/internal/cluster/topology"
)

// topologies finds VMs whose sockets were set for other hosts, or that are not told
// of the nodes that they are spread over. That a VM could be shown better is left to
// the command topology; here is only what costs it something.
func topologies(s scene) (out []Warning) {
	f := topology.ScanIndexed(s.c, s.x, topology.Options{})
	for _, kind := range []struct {
		grade  topology.Grade
		name   string
		nth    int // number of the reported reason of the grade: the first one of Stale is the target only
		advice string
	}{
		{topology.ExceedsHost, "larger than a host", 0, "give it fewer vCPUs or less memory; it runs, and waits for itself"},
		{topology.HotAddFlat, "hidden NUMA", 0, "turn hot-add of vCPUs off where nobody uses it"},
		{topology.Stale, "stale topology", 1, "plimsoll cluster topology SNAPSHOT VM says what to set"},
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

// reasonText is a reason of a grade by its number; empty beyond the last.
func reasonText(reasons []topology.Reason, g topology.Grade, nth int) string {
	own := slices.DeleteFunc(slices.Clone(reasons), func(r topology.Reason) bool { return r.Grade != g })
	if nth >= len(own) {
		return ""
	}
	text, _, _ := strings.Cut(own[nth].Text, ": turn that off") // already in the advice
	return text
}
