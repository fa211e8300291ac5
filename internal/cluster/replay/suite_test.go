package replay

import (
	"context"
	"fmt"
	"testing"

	"plimsoll/internal/cluster/snapshot"
	"plimsoll/scenarios"
)

func TestSuite(t *testing.T) {
	wins, all, raw := map[string]int{}, 0, map[string]int{}
	moves, shares := 0, 0.
	for _, name := range scenarios.Names() {
		text, _ := scenarios.Text(name)
		s, err := snapshot.ReadScenario(name+".yaml", text)
		if err != nil {
			t.Log(err)
			continue
		}
		all++
		run := func(p Policy) *Outcome {
			o, err := Run(context.Background(), s, p)
			if err != nil {
				t.Fatal(err)
			}
			return o
		}
		show := func(who string, o *Outcome, tail string) {
			fmt.Printf("%-20s %-10s short %8d GHz.s %8d GiB.s moves %4d copied %5d GiB flaps %3d viol %5d drain %5d over %6d s ref %d ab %d late %d %s\n", s.Name, who,
				o.Short.CPU/1_000_000, o.Short.Memory/1024/1000, o.Moves, o.Copied>>30, o.Flaps, o.Violated/1000, o.Draining/1000, o.Overload/1000, o.Refused, o.Aborted, o.Late, tail)
		}
		own := run(NewOwn())
		moves += own.Moves
		shares += float64(own.Short.CPU)/float64(own.Entitled.CPU) + float64(own.Short.Memory)/float64(own.Entitled.Memory)
		show("own", own, "")
		show("idle", run(NewIdle()), "")
		for _, p := range []struct {
			name string
			make func() Policy
		}{{"spread", NewSpread}, {"variation", NewVariation}, {"threshold", NewThreshold}, {"descent", NewDescent}} {
			o := run(p.make())
			within := run(NewOwnWithin(o.Moves))
			tail := fmt.Sprintf("| own within: %d GHz.s %d GiB.s %d moves", within.Short.CPU/1_000_000, within.Short.Memory/1024/1000, within.Moves)
			cost := func(o *Outcome) float64 {
				return float64(o.Short.CPU)/float64(o.Entitled.CPU) + float64(o.Short.Memory)/float64(o.Entitled.Memory)
			}
			tail = fmt.Sprintf("%.3f%% ", 100*cost(o)) + tail + fmt.Sprintf(" %.3f%%", 100*cost(within))
			if cost(within) <= cost(o)+material && within.Moves <= o.Moves {
				wins[p.name]++
			} else {
				tail += " LOST"
			}
			if cost(own) <= cost(o)+material && own.Moves <= o.Moves {
				raw[p.name]++
			}
			show(p.name, o, tail)
		}
	}
	fmt.Println(all, "scenarios", wins, "raw", raw, "own moves", moves, "own share sum", shares)
}
