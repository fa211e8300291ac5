package sca

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"plimsoll/internal/cluster/snapshot/unit"
)

// Point is a measured loss of a policy at a load. Both are per mille: the load of the capacity under the default policy, the loss of the
// throughput under the default policy at the same load.
type Point struct {
	Policy Policy `json:"policy"`
	Load   int    `json:"load"`
	Loss   int    `json:"loss"`
}

// mostLoss is the largest loss of SCAv1 at saturation: a second thread is worth a core at most.
const mostLoss = 500

// parsePoint parses POLICY@LOAD=LOSS, such as scav1@75%=4.2%.
func parsePoint(text string) (p Point, err error) {
	policy, rest, _ := strings.Cut(text, "@")
	load, loss, whole := strings.Cut(rest, "=")
	p.Policy = Policy(policy)
	if !whole || p.Policy != V1 && p.Policy != V2 {
		return p, fmt.Errorf("%q: must be POLICY@LOAD=LOSS with the policy scav1 or scav2, as in scav1@75%%=4.2%%", text)
	}
	for _, n := range []struct {
		what, text string
		to         *int
		most       int64
	}{{"load", load, &p.Load, one}, {"loss", loss, &p.Loss, one - 1}} {
		v, err := unit.Share.Parse(n.text)
		if err == nil && v > n.most {
			err = fmt.Errorf("is more than %s", unit.PerMille(int(n.most)))
		}
		if err != nil {
			return p, fmt.Errorf("%q: the %s %w", text, n.what, err)
		}
		*n.to = int(v)
	}
	if p.Load == 0 {
		return p, fmt.Errorf("%q: the load is nothing: measure at 100%% for saturation, and at a part of it", text)
	}
	return p, nil
}

// Model is what is known about the cores, beyond the snapshot.
type Model struct {
	// Yield is the work of a core with both threads busy, per mille of that with one; 0 is that of the loss measured for SCAv1 at
	// saturation, or DefaultYield.
	Yield int
	// Measured are losses that a user has measured. Those at saturation correct the capacity, and those below it the loss of demand.
	Measured []Point
}

// NewModel reads the flags of a command, and refuses what contradicts itself.
func NewModel(yield int, points []string) (m Model, err error) {
	if m.Yield = yield; yield < one || yield > 2*one {
		return m, fmt.Errorf("--yield %d: must be from 1000 (a second thread adds nothing) to 2000 (it is worth a core)", yield)
	}
	for _, text := range points {
		p, err := parsePoint(text)
		if err != nil {
			return m, fmt.Errorf("--loss %w", err)
		}
		if slices.ContainsFunc(m.Measured, func(o Point) bool { return o.Policy == p.Policy && o.Load == p.Load }) {
			return m, fmt.Errorf("--loss %q: that of %s at this load is given twice", text, p.Policy)
		}
		m.Measured = append(m.Measured, p)
	}
	slices.SortFunc(m.Measured, func(a, b Point) int {
		return cmp.Or(cmp.Compare(a.Policy, b.Policy), cmp.Compare(a.Load, b.Load))
	})
	loss, measured := m.saturated(V1)
	switch {
	case measured && yield != DefaultYield:
		return m, fmt.Errorf("--yield %d: the loss of scav1 at 100%% says what a second thread adds to a core: omit one of them", yield)
	case loss > mostLoss:
		return m, fmt.Errorf("--loss scav1@100%%=%s: one thread of a core does at least half of what both do", unit.PerMille(loss))
	case measured:
		m.Yield = 0
	}
	return m, nil
}

// of are the losses of a policy by load.
func (m Model) of(p Policy) (own []Point) {
	for _, o := range m.Measured {
		if o.Policy == p {
			own = append(own, o)
		}
	}
	return own
}

// saturated is the loss of a policy at saturation.
func (m Model) saturated(p Policy) (loss int, measured bool) {
	for _, o := range m.Measured {
		if o.Policy == p && o.Load == one {
			return o.Loss, true
		}
	}
	return 0, false
}

// yield is the one to assume.
func (m Model) yield() int {
	if m.Yield != 0 {
		return m.Yield
	}
	if loss, measured := m.saturated(V1); measured {
		return (one*one + (one-loss)/2) / (one - loss)
	}
	return DefaultYield
}

// kept is the part of the capacity that remains for VMs with an even number of vCPUs under SCAv2, per mille: in the model all.
func (m Model) kept() int64 {
	loss, _ := m.saturated(V2)
	return int64(one - loss)
}

// between is the measured loss at a load: that of the line between two points, and at most that of the lowest one below it. It is not
// known above the highest one, unless that is saturation.
func between(points []Point, load int) Loss {
	first, last := points[0], points[len(points)-1]
	if load < first.Load {
		return Loss{Most: first.Loss, Known: true}
	}
	if load >= last.Load {
		return Loss{Least: last.Loss, Most: last.Loss, Known: load == last.Load || last.Load == one}
	}
	i := slices.IndexFunc(points, func(p Point) bool { return p.Load > load })
	a, b := points[i-1], points[i]
	loss := a.Loss + (b.Loss-a.Loss)*(load-a.Load)/(b.Load-a.Load)
	return Loss{Least: loss, Most: loss, Known: true}
}
