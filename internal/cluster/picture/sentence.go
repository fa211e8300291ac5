package picture

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"plimsoll/internal/cluster/doctor"
	"plimsoll/internal/webpage"
)

// The marks of badges, around the origin.
const (
	disc  = "M-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0z"
	ahead = "M-5-1.2H0V-4.5L5.5 0L0 4.5V1.2H-5z"
	cross = "M-4-2.5L-2.5-4L0-1.5L2.5-4L4-2.5L1.5 0L4 2.5L2.5 4L0 1.5L-2.5 4L-4 2.5L-1.5 0z"
)

func newBadge(r *doctor.Report) webpage.Badge {
	moves := plural(len(r.Moves), "move", "moves")
	switch n := len(r.Stranded); {
	case n > 0 && len(r.Moves) > 0:
		return webpage.Badge{Word: moves + ", " + plural(n, "VM", "VMs") + " stranded", Class: "worse", Mark: cross}
	case n > 0:
		return webpage.Badge{Word: plural(n, "VM", "VMs") + " stranded", Class: "worse", Mark: cross}
	case len(r.Moves) > 0:
		return webpage.Badge{Word: moves, Class: "equivalent", Mark: ahead}
	}
	return webpage.Badge{Word: "Nothing moves", Class: "open", Mark: disc}
}

// hero is the main figure of a plan.
type hero struct{ Number, What, Class string }

func newHero(r *doctor.Report) *hero {
	h := heroOf(r)
	if h != nil {
		h.Number = strings.ReplaceAll(h.Number, " %", "\u00a0%") // no line begins with the sign
	}
	return h
}

func heroOf(r *doctor.Report) *hero {
	before, after := lost(r.Lost[0]), lost(r.Lost[1])
	what := "of the work is slowed down or not served"
	switch {
	case len(r.Moves) == 0 && before == "0.00 %":
		return nil
	case len(r.Moves) == 0:
		return &hero{Number: before, What: what}
	case before == after && before == "0.00 %":
		return &hero{Number: count(len(r.Moves)), What: "VMs would move; no work is slowed down, before or after"}
	case before == after:
		return &hero{Number: before, What: what}
	case r.Lost[1] < r.Lost[0]:
		return &hero{strings.TrimSuffix(before, " %") + " → " + after, what + ", before and after the moves", "better"}
	}
	return &hero{strings.TrimSuffix(before, " %") + " → " + after, what + ", before and after the moves", "worse"}
}

func lost(share float64) string { return fmt.Sprintf("%.2f %%", 100*finite(share)) }

// purpose is the purpose of moves of a reason, by the reasons of the vSphere API, in the order
// in which a round checks them: from one host, which is named, and from several.
var purpose = []struct{ reason, one, many string }{
	{"hostFailed", "to restart the VMs of %s", "to restart the VMs of failed hosts"},
	{"hostMaint", "to empty %s", "to empty hosts"},
	{"vmHostHardAffinity", "because a rule must hold", "because rules must hold"},
	{"reservation", "because reservations on %s exceed its capacity", "because reservations exceed the capacity of hosts"},
	{"makeRoom", "to make room for another", "to make room for others"},
	{"vmHostSoftAffinity", "because a rule should hold", "because rules should hold"},
	{"fairnessCpuAvg", "because the CPU load of %s is high", "because the CPU load of hosts is high"},
	{"fairnessMemAvg", "because the memory load of %s is high", "because the memory load of hosts is high"},
}

// purposes are the reasons of all moves, with their numbers.
func purposes(r *doctor.Report) []string {
	of, from := map[string]int{}, map[string]map[string]bool{}
	for _, m := range r.Moves {
		of[m.Reason]++
		if from[m.Reason] == nil {
			from[m.Reason] = map[string]bool{}
		}
		from[m.Reason][m.From] = true
	}
	var parts []string
	left := len(r.Moves)
	for _, p := range purpose {
		n := of[p.reason]
		left -= n
		named := strings.Contains(p.one, "%s")
		switch {
		case n == 0:
		case named && len(from[p.reason]) == 1:
			for host := range from[p.reason] {
				parts = append(parts, count(n)+" "+fmt.Sprintf(p.one, clean(host)))
			}
		case n == 1 && !named:
			parts = append(parts, "1 "+p.one)
		default:
			parts = append(parts, count(n)+" "+p.many)
		}
	}
	if left > 0 {
		parts = append(parts, count(left)+" for other reasons")
	}
	return parts
}

// lead is the headline: the moves of a round and their reason, or the reason for none.
func lead(r *doctor.Report) string {
	if len(r.Moves) == 0 {
		text := "Nothing moves"
		switch {
		case len(r.Stranded) > 0:
			text = "Nothing moves: " + plural(len(r.Stranded), "VM", "VMs") + " should, but no host can run " + map[bool]string{true: "it", false: "them"}[len(r.Stranded) == 1]
		case r.Quiet != "":
			text += ": " + clean(r.Quiet)
		}
		return sentence(text, false) + waiting(r)
	}
	steps := 0
	for _, m := range r.Moves {
		steps = max(steps, m.Step)
	}
	parts := purposes(r)
	text := "A round would make " + plural(len(r.Moves), "move", "moves")
	if steps > 0 && steps < len(r.Moves) {
		text += " in " + plural(steps, "step", "steps")
	}
	if len(parts) == 1 {
		text += strings.TrimLeft(parts[0], "0123456789,")
	} else {
		text += ": " + strings.Join(parts[:len(parts)-1], ", ") + " and " + parts[len(parts)-1]
	}
	text += "."
	if n := len(r.Stranded); n > 0 {
		text += " " + plural(n, "VM finds", "VMs find") + " no host."
	}
	return text + waiting(r)
}

func waiting(r *doctor.Report) string {
	if r.Waiting == 0 {
		return ""
	}
	return " " + plural(r.Waiting, "VM waits", "VMs wait") + " to be placed."
}

// quiet is why no further move is made, unless the lead contains it.
func quiet(r *doctor.Report) string {
	if r.Quiet == "" || len(r.Moves) == 0 && len(r.Stranded) == 0 {
		return ""
	}
	return sentence(r.Quiet, false)
}

// refused are the moves that were not made, except those already mentioned.
func refused(r *doctor.Report) []doctor.Refused {
	out := make([]doctor.Refused, len(r.Refused))
	for i, f := range r.Refused {
		out[i] = doctor.Refused{VM: clean(f.VM), From: clean(f.From), To: clean(f.To), Why: clean(f.Why)}
	}
	return out
}

// sentence ends a text with a full stop, and begins it with a capital if it stands alone.
func sentence(s string, alone bool) string {
	s = clean(s)
	if alone {
		s = capital(s)
	}
	if s == "" || strings.ContainsAny(s[len(s)-1:], ".!?") {
		return s
	}
	return s + "."
}

func capital(s string) string {
	if r, size := utf8.DecodeRuneInString(s); size > 0 {
		return string(unicode.ToUpper(r)) + s[size:]
	}
	return s
}

func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return count(n) + " " + many
}

// count is a number with separated thousands.
func count(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
