package picture

import (
	"fmt"
	"strings"

	"plimsoll/internal/cluster/doctor"
	"plimsoll/internal/cluster/doctor/pools"
)

// move is a row of the table of moves.
type move struct {
	ID       string
	Index    int
	Step     int
	Kind     string
	VM       string
	From, To string
	Why      string
	Evidence string
	Effect   []string // on each host
	Value    string
	Not      []doctor.Alternative
	Drawn    bool // drawn beside the hosts; the arrows of other moves are in the table
}

func moves(r *doctor.Report, drawn map[int]bool) []move {
	var out []move
	for i, m := range r.Moves {
		w := move{
			ID: rowID(i), Index: i, Step: m.Step, Kind: kind(m.Reason), VM: clean(m.VM), From: clean(m.From), To: clean(m.To),
			Why: clean(m.Why), Evidence: clean(m.Evidence), Effect: strings.SplitAfter(strings.ReplaceAll(arrows(m.Effect), " %", "\u00a0%"), ", "), Value: clean(m.Value), Drawn: drawn[i],
		}
		for _, a := range m.Alternatives {
			w.Not = append(w.Not, doctor.Alternative{Host: clean(a.Host), Why: clean(a.Why)})
		}
		out = append(out, w)
	}
	return out
}

// hostLine is a row of the table of hosts.
type hostLine struct{ Name, State, VMs, CPU, Entitled, Reserved, Memory, EntitledMemory, ReservedMemory string }

func hostLines(r *doctor.Report) []hostLine {
	var out []hostLine
	for _, h := range r.Hosts {
		n := count(h.VMs[0])
		if h.VMs[1] != h.VMs[0] {
			n += " → " + count(h.VMs[1])
		}
		out = append(out, hostLine{
			clean(h.Name), clean(h.State), n,
			change(h.CPU), percent(h.Entitled[0]), change([2]float64{h.Reserved[0], h.ReservedAfter[0]}),
			change(h.Memory), percent(h.Entitled[1]), change([2]float64{h.Reserved[1], h.ReservedAfter[1]}),
		})
	}
	return out
}

// poolLine is a pool with its demand and entitlement.
type poolLine struct {
	Name        string
	Depth       int
	VMs         string
	Shares      string
	CPU, Memory entitled
}

// entitled is one resource of a pool: two bars on the scale of the largest.
type entitled struct {
	Name            string
	Asked, Gets     string
	AskedAt, GetsAt string
	Short           bool // it gets less than its demand
}

// deepest is the maximum indentation of names.
const deepest = 8

func poolLines(views []pools.View) []poolLine {
	var most pools.Amounts
	for _, p := range views {
		most.CPU, most.Memory = max(most.CPU, p.Demand.CPU, p.Entitled.CPU), max(most.Memory, p.Demand.Memory, p.Entitled.Memory)
	}
	var out []poolLine
	for _, p := range views {
		w := poolLine{Name: clean(p.Name), Depth: min(p.Depth, deepest), VMs: count(p.VMs), Shares: count(int(p.Shares))}
		w.CPU = entitledOf(p.Demand.CPU, p.Entitled.CPU, most.CPU)
		w.CPU.Asked, w.CPU.Gets = mhz(p.Demand.CPU), mhz(p.Entitled.CPU)
		w.Memory = entitledOf(p.Demand.Memory, p.Entitled.Memory, most.Memory)
		w.Memory.Asked, w.Memory.Gets = bytesText(p.Demand.Memory), bytesText(p.Entitled.Memory)
		w.CPU.Name, w.Memory.Name = "cpu", "memory"
		out = append(out, w)
	}
	return out
}

func entitledOf(asked, gets, most int64) entitled {
	at := func(n int64) string {
		if most <= 0 {
			return "0%"
		}
		return px(100*finite(float64(n)/float64(most))) + "%"
	}
	return entitled{AskedAt: at(asked), GetsAt: at(gets), Short: gets < asked}
}

// strip is all hosts as small bars, in the order of the snapshot.
type strip struct {
	Title string
	Cells []cell
}

// cell is a host: a class for its load, or for a host that is not running.
type cell struct{ Class, Title string }

// strips are all hosts before and after the moves, if the drawing omits some.
func strips(r *doctor.Report) []strip {
	if len(r.Hosts) <= mostHosts {
		return nil
	}
	one := func(title string, when int) strip {
		s := strip{Title: title}
		for i := range r.Hosts {
			h := &r.Hosts[i]
			load := max(finite(h.CPU[when]), finite(h.Memory[when]))
			c := cell{Class: fmt.Sprintf("l%d", min(11, int(load*10+.5)))}
			if load > 1 {
				c.Class = "l11"
			}
			if h.State != "connected" {
				c.Class += " off"
			}
			c.Title = fmt.Sprintf("%s %.0f/%.0f", clean(h.Name), 100*finite(h.CPU[when]), 100*finite(h.Memory[when]))
			if h.State != "connected" {
				c.Title += " " + clean(h.State)
			}
			s.Cells = append(s.Cells, c)
		}
		return s
	}
	all := []strip{one("Before", 0)}
	if len(r.Moves) == 0 {
		all[0].Title = ""
		return all
	}
	return append(all, one("After", 1))
}
