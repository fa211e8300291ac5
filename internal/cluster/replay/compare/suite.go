package compare

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"

	"plimsoll/internal/cluster/replay/strategy"
	"plimsoll/internal/cluster/scenario"
	"plimsoll/internal/column"
)

// material is the smallest significant difference, as a part of entitled demand.
const material = .001

// Suite is several scenarios, each under the same policies.
type Suite []*Comparison

// All compares policies in all scenarios, on all cores, and reports each completion. It
// stops at the first error.
func All(ctx context.Context, all []*scenario.Scenario, kinds []strategy.Kind, done func(n int, s *scenario.Scenario)) (Suite, error) {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	suite := make(Suite, len(all))
	var next atomic.Int64
	var said sync.Mutex
	var workers sync.WaitGroup
	ended := 0
	for range min(len(all), runtime.GOMAXPROCS(0)) {
		workers.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(all) && ctx.Err() == nil; i = int(next.Add(1)) - 1 {
				c, err := Scenario(ctx, all[i], kinds)
				if err != nil {
					stop(err)
					return
				}
				suite[i] = c
				said.Lock()
				ended++
				done(ended, all[i])
				said.Unlock()
			}
		})
	}
	workers.Wait()
	return suite, context.Cause(ctx)
}

// Split is the tuning set and the held-out set of a suite.
func (s Suite) Split() (tuning, heldOut Suite) {
	for _, c := range s {
		if c.HeldOut {
			heldOut = append(heldOut, c)
		} else {
			tuning = append(tuning, c)
		}
	}
	return tuning, heldOut
}

// Shortfall is the mean shortfall of our own policy over scenarios, as shares of CPU and
// memory, and its total moves.
func (s Suite) Shortfall() (cpu, memory float64, moves int) {
	n := 0.
	for _, c := range s {
		for i := range c.Rows {
			if r := &c.Rows[i]; r.Policy == strategy.Kinds()[0].Name {
				cpu, memory, moves, n = cpu+r.ShareCPU, memory+r.ShareMemory, moves+r.Moves, n+1
			}
		}
	}
	return cpu / max(1, n), memory / max(1, n), moves
}

// Score counts the scenarios that our own policy won or lost against a rival.
type Score struct {
	Rival     string `json:"rival"`
	Scenarios int    `json:"scenarios"`
	// NoWorse counts those in which ours, with no more moves than the rival, had a shortfall
	// at most a thousandth above the rival's.
	NoWorse int `json:"no_worse"`
	Better  int `json:"better"` // those of them with a shortfall lower by more than that, or an equal one with fewer moves
	Flaps   int `json:"flaps"`  // of the rival, in all scenarios
	Moves   int `json:"moves"`
}

// Scores are those against each rival.
func (s Suite) Scores() (out []Score) {
	for _, k := range strategy.Kinds() {
		if !k.Rival {
			continue
		}
		score := Score{Rival: k.Name}
		for _, c := range s {
			for i := range c.Rows {
				r := &c.Rows[i]
				if r.Policy != k.Name || r.Within == nil {
					continue
				}
				score.Scenarios++
				score.Flaps += r.Flaps
				score.Moves += r.Moves
				no, better := r.Within.against(r)
				if no {
					score.NoWorse++
				}
				if better {
					score.Better++
				}
			}
		}
		if score.Scenarios > 0 {
			out = append(out, score)
		}
	}
	return out
}

// against reports whether a result is no worse than another, and whether it is better.
func (r *Result) against(o *Result) (noWorse, better bool) {
	ours, theirs := r.ShareCPU+r.ShareMemory, o.ShareCPU+o.ShareMemory
	noWorse = ours <= theirs+material && r.Moves <= o.Moves
	return noWorse, noWorse && (ours < theirs-material || r.Moves < o.Moves)
}

// Forget drops the lists of moves.
func (c *Comparison) Forget() {
	for i := range c.Rows {
		c.Rows[i].Log = nil
	}
}

// Text writes all comparisons, and a summary of several.
func (s Suite) Text(w io.Writer) error {
	for i, c := range s {
		if i > 0 {
			fmt.Fprintln(w)
		}
		if err := c.Text(w); err != nil {
			return err
		}
	}
	if len(s) < 2 || len(s.Scores()) == 0 {
		return nil
	}
	b := &strings.Builder{}
	fmt.Fprintf(b, "\nplimsoll with no more moves than the rival made, by scenarios; shares that differ by less than %g %% count as the same\n", 100*material)
	tuning, heldOut := s.Split()
	if len(heldOut) == 0 || len(tuning) == 0 {
		s.scores(b)
	} else {
		for _, set := range []struct {
			name string
			of   Suite
		}{{"Tuning set", tuning}, {"Held-out set", heldOut}} {
			cpu, memory, moves := set.of.Shortfall()
			fmt.Fprintf(b, "\n%s: %d scenarios, mean shortfall %s of CPU and %s of memory, %d moves\n", set.name, len(set.of), short(cpu), short(memory), moves)
			set.of.scores(b)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// scores writes the table of scores.
func (s Suite) scores(b *strings.Builder) {
	b.WriteString("\n")
	t := column.NewTable(b)
	fmt.Fprintln(t, "RIVAL\tNO WORSE\tBETTER\tOF\tITS MOVES\tITS FLAPS")
	for _, x := range s.Scores() {
		fmt.Fprintf(t, "%s\t%d\t%d\t%d\t%d\t%d\n", x.Rival, x.NoWorse, x.Better, x.Scenarios, x.Moves, x.Flaps)
	}
	t.Flush()
}
