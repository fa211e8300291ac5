package balance

import (
	"fmt"
	"strings"

	"plimsoll/internal/cluster"
)

// Text says a timetable of a plan to an operator: a line for each stage, with what it is
// expected to take.
func (t Timetable) Text(c *cluster.Cluster, p Plan) string {
	b := &strings.Builder{}
	for n, stage := range t.Stages {
		fmt.Fprintf(b, "%d. in %d s: ", n+1, stage.Seconds)
		for i, at := range stage.Moves {
			m := &p.Moves[at]
			if i > 0 {
				b.WriteString(", ")
			}
			if m.From == cluster.Nowhere {
				fmt.Fprintf(b, "%s starts on %s", c.VMs[m.VM].Name, c.Hosts[m.To].Name)
				continue
			}
			fmt.Fprintf(b, "%s from %s to %s", c.VMs[m.VM].Name, c.Hosts[m.From].Name, c.Hosts[m.To].Name)
		}
		for _, v := range stage.Stopped {
			fmt.Fprintf(b, "; %s stands still meanwhile: it writes to its memory faster than it can be copied", c.VMs[v].Name)
		}
		b.WriteString("\n")
	}
	fmt.Fprintf(b, "%d moves in %d stages, %d s in all\n", len(p.Moves), len(t.Stages), t.Seconds)
	return b.String()
}
