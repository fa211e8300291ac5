// Package strategy is the policies that a replay compares: our own, and those of other
// schedulers.
package strategy

import (
	"fmt"
	"slices"
	"strings"

	"plimsoll/internal/cluster/replay"
)

// Kind is a named policy.
type Kind struct {
	Name, Doc string
	Rival     bool // compared with ours
	New       func() replay.Policy
}

// Kinds lists the policies: ours, the one that makes only mandatory moves, and those of other
// schedulers.
func Kinds() []Kind {
	minute, minutes := int64(60), int64(300)
	return []Kind{
		{"plimsoll", "moves that gain more than they cost", false, func() replay.Policy { return NewOwn(Unlimited) }},
		{"idle", "mandatory moves only", false, func() replay.Policy { return rival{minute, func(*decision) {}} }},
		{"spread", "to the least loaded host while loads differ by 10 points, as ProxLB", true, func() replay.Policy { return rival{minutes, spread} }},
		{"variation", "the best move when the coefficient of variation is above 0.3 in three rounds, as the scheduler of Proxmox VE", true, func() replay.Policy { return rival{10, new(variation).balance} }},
		{"threshold", "off hosts above 76 %, with a cool-down of half an hour, as the load balancer of Xen Orchestra", true, func() replay.Policy { return rival{minute, newThreshold().balance} }},
		{"descent", "steepest descent on summed deviations, as hbal of Ganeti", true, func() replay.Policy { return rival{minutes, descent} }},
	}
}

// Named is the policy with a name.
func Named(name string) (Kind, error) {
	all := Kinds()
	i := slices.IndexFunc(all, func(k Kind) bool { return k.Name == name })
	if i < 0 {
		known := make([]string, len(all))
		for i, k := range all {
			known[i] = k.Name
		}
		return Kind{}, fmt.Errorf("unknown policy %q; known: %s", name, strings.Join(known, ", "))
	}
	return all[i], nil
}
