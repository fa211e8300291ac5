package whatif

import (
	"fmt"
	"io"
	"strings"

	"plimsoll/internal/cluster/doctor/words"
)

// Text writes the ways for an operator.
func (e *Entitle) Text(w io.Writer) error {
	b := &strings.Builder{}
	say := func(n int64) string { return words.Amount(e.resource, n) }
	if e.Asks >= e.Target {
		fmt.Fprintf(b, "%s demands %s and is entitled to %s; the target is %s.\n", e.VM, say(e.Asks), say(e.Gets), say(e.Target))
	} else {
		fmt.Fprintf(b, "%s demands %s; with a demand of %s, it would be entitled to %s.\n", e.VM, say(e.Asks), say(e.Target), say(e.Gets))
	}
	switch {
	case e.Gets >= e.Target:
		b.WriteString("No change is needed.\n")
	case len(e.Ways) == 0:
		fmt.Fprintf(b, "No settings of the VM or its pools reach that without violating reservations of others; the maximum is %s. Add hosts, or lower reservations elsewhere.\n", say(e.Most))
	default:
		fmt.Fprintf(b, "Each of these changes is sufficient, and the smallest of its kind. Changes with the least cost to other VMs come first:\n")
	}
	for i, way := range e.Ways {
		var changes []string
		for _, c := range way.Changes {
			name, _, _ := strings.Cut(c.Setting, "=")
			changes = append(changes, fmt.Sprintf("%s from %s to %s", name, c.From, c.To))
		}
		cost := "no other VM gets less of its demand"
		if way.Losers > 0 {
			cost = fmt.Sprintf("%s %s %s of their demand, %s most", words.Count(way.Losers, "other VM"), words.Verb(way.Losers, "loses", "lose"), say(way.Lost), way.Worst)
		}
		fmt.Fprintf(b, "\n%d. %s\n   it is then entitled to %s; %s\n", i+1, strings.Join(changes, ", and "), say(way.Gets), cost)
		var set []string
		for _, c := range way.Changes {
			fmt.Fprintf(b, "   %s\n", c.Script)
			set = append(set, "--set "+quoted(c.Setting))
		}
		fmt.Fprintf(b, "   plimsoll cluster what-if %s\n", strings.Join(set, " "))
	}
	_, err := io.WriteString(w, b.String())
	return err
}
