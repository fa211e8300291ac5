package doctor

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/balance"
	"plimsoll/internal/cluster/balance/advice"
	"plimsoll/internal/cluster/doctor/words"
)

// Exact compares the moves of a round with the best layout: the valid one with the least
// lost work. The best layout ignores the cost of moves, should-rules and the order of
// moves.
type Exact struct {
	Now  Rating `json:"now"`
	Plan Rating `json:"plan"`
	Best Rating `json:"best"`
	// Behind is the loss of the plan beyond the best layout. It is negative if the plan leaves
	// violations that the best layout repairs, or moves pinned VMs.
	Behind Distance `json:"behind"`
	// Moves lead from the current layout to the best one, in no order.
	Moves []Transfer `json:"moves"`
}

// Rating is the rating of a layout.
type Rating struct {
	Lost  int64   `json:"lost_mhz"` // demand that is delayed or not served
	Share float64 `json:"lost"`     // of all demand
	Score float64 `json:"score"`    // of the cluster, 0 to 1
	Moves int     `json:"moves"`    // from the current layout
}

// Distance is the difference of two standings.
type Distance struct {
	Lost  int64   `json:"lost_mhz"`
	Share float64 `json:"lost"`
	Score float64 `json:"score"`
}

// FromBest compares the moves of a round with the best layout. It fails if the cluster has too
// many layouts to try, or no valid one.
func FromBest(c *cluster.Cluster, o advice.Options) (*Exact, error) {
	x := cluster.NewIndex(c)
	now := cluster.NewLayout(c, x)
	_, steps, err := balance.Exact(now, x)
	switch {
	case errors.Is(err, balance.ErrTooLarge):
		return nil, fmt.Errorf("compare %s, %s with the best layout: %w; omit it", words.Count(len(c.Hosts), "host"), words.Count(len(c.VMs), "VM"), err)
	case err != nil:
		return nil, fmt.Errorf("compare with the best layout: %w, so none is best; omit it, and see the violated constraints", err)
	}
	e := &Exact{Moves: []Transfer{}}
	if e.Now, err = standing(now, x); err != nil {
		return nil, err
	}
	planned, best := now.Clone(), now.Clone()
	plan := balance.Round(now, x, o)
	for _, m := range plan.Moves {
		planned.Move(m.VM, m.To)
	}
	for _, s := range steps {
		best.Move(s.VM, s.To)
		e.Moves = append(e.Moves, transfer(c, s.VM, s.From, s.To))
	}
	if e.Plan, err = standing(planned, x); err != nil {
		return nil, err
	}
	if e.Best, err = standing(best, x); err != nil {
		return nil, err
	}
	e.Plan.Moves, e.Best.Moves = len(plan.Moves), len(steps)
	millionth := func(x float64) float64 { return math.Round(x*1e6) / 1e6 }
	e.Behind = Distance{e.Plan.Lost - e.Best.Lost, millionth(e.Plan.Share - e.Best.Share), millionth(e.Best.Score - e.Plan.Score)}
	return e, nil
}

// standing rates a layout. With every VM pinned only one layout exists, so the exact search
// returns its loss.
func standing(l *cluster.Layout, x *cluster.Index) (Rating, error) {
	pinned := *l.Cluster()
	pinned.VMs = slices.Clone(pinned.VMs)
	asked := int64(0)
	for v := range pinned.VMs {
		id := cluster.VMID(v)
		pinned.VMs[v].Host, pinned.VMs[v].Pinned = l.Host(id), true
		if l.Host(id) != cluster.Nowhere {
			asked += x.Demand(id).CPU
		}
	}
	fixed := cluster.NewLayout(&pinned, x)
	lost, _, err := balance.Exact(fixed, x)
	if err != nil {
		return Rating{}, err
	}
	score := balance.Round(fixed, x, advice.Options{}).Before.Score
	return Rating{Lost: lost, Share: share(lost, asked), Score: float64(score) / 1e6}, nil
}

// mostTransfers is the maximum number of reported moves to the best layout.
const mostTransfers = 20

func (e *Exact) write(b *strings.Builder) {
	says := func(s Rating) string {
		return fmt.Sprintf("%d MHz (%.2f %%) lost, score %.1f", s.Lost, 100*s.Share, 100*s.Score)
	}
	lines := []string{"current layout:   " + says(e.Now), "after the plan:   " + says(e.Plan) + ", " + words.Count(e.Plan.Moves, "move"), "the best layout:  " + says(e.Best) + ", " + words.Count(e.Best.Moves, "move")}
	switch {
	case e.Behind.Lost > 0:
		lines = append(lines, fmt.Sprintf("the plan is %d MHz behind: %.2f %% of the demand, %.1f points of the score", e.Behind.Lost, 100*e.Behind.Share, 100*e.Behind.Score))
	case e.Behind.Lost < 0:
		lines = append(lines, fmt.Sprintf("the plan loses %d MHz less: it violates a hard constraint that the best layout keeps, or moves a pinned VM", -e.Behind.Lost))
	default:
		lines = append(lines, "no valid layout loses less than the plan")
	}
	if e.Behind.Lost != 0 {
		var moves []string
		for _, t := range e.Moves[:min(len(e.Moves), mostTransfers)] {
			moves = append(moves, t.said())
		}
		if more := len(e.Moves) - mostTransfers; more > 0 {
			moves = append(moves, fmt.Sprintf("%d more", more))
		}
		if len(moves) > 0 {
			lines = append(lines, "the best layout would have "+strings.Join(moves, ", "))
		}
		lines = append(lines, "neither the cost of moves nor should-rules are counted")
	}
	words.Section(b, "Comparison with the best layout", lines)
}
