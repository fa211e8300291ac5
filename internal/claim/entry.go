package claim

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
)

// Change audits a change, such as "+8.5 %", against its values before and after.
func Change(before, after, says string) Claim {
	a := &auditor{doc: &document{}, line: 1, text: before + " -> " + after + ": " + says}
	if err := a.entryChange(&entry{Before: before, After: after, Says: says}); err != nil {
		a.add(Claim{Status: NotUnderstood, Reason: err.Error()})
	}
	return a.claims[0]
}

// stated reads a change as it is said.
func (a *auditor) stated(says string) (*saying, error) {
	s := parse(a.doc.locale, says)
	if len(s.sayings) != 1 {
		return nil, fmt.Errorf("says: %q is not one change, such as \"over 10 %%\", \"3x faster\", \"+5 points\"", says)
	}
	return &s.sayings[0], nil
}

func (a *auditor) entryChange(e *entry) error {
	q, err := a.values("before", e.Before, "after", e.After)
	if err != nil {
		return err
	}
	before, after := q[0], q[1]
	for _, pair := range [][2]*quantity{{before, after}, {after, before}} {
		if pair[0].unit.dim == "" {
			pair[0].unit, pair[0].nouns = pair[1].unit, pair[1].nouns
		}
	}
	if before.unit.dim != after.unit.dim || before.points != after.points {
		a.add(Claim{Status: NotUnderstood, Reason: "the units of before and after differ: " + before.printed + ", " + after.printed})
		return nil
	}
	c := &change{a: before, b: after, metric: a.metricNamed(e.Of, before)}
	switch e.Better {
	case "", "neither":
	case "lower":
		c.metric = metricLatency
	case "higher":
		c.metric = metricThroughput
	default:
		return fmt.Errorf("better: %q is neither \"higher\" nor \"lower\"", e.Better)
	}
	if e.Base != "" {
		base, err := a.value("base", e.Base)
		if err != nil {
			return err
		}
		c.origin, c.hasOrigin = base.span(), true
	}
	if e.Says != "" {
		one, err := a.stated(e.Says)
		if err != nil {
			return err
		}
		if e.Base != "" && one.direction == 0 && one.sign == 0 {
			one.direction = 1
			if after.span().middle() < before.span().middle() {
				one.direction = -1
			}
		}
		out := judge(one, c)
		out.Said = e.Says
		a.add(out)
	}
	if e.LoadBefore == "" {
		return nil
	}
	return a.entryLoads(e, before, after)
}

func (a *auditor) metricNamed(of string, q *quantity) string {
	for _, w := range strings.Fields(strings.ToLower(of)) {
		if m := metricWords[strings.Trim(w, ",()")]; m != "" {
			return m
		}
	}
	switch q.unit.dim {
	case dimTime:
		return metricLatency
	case dimRate, dimByteSec, dimBitSec:
		return metricThroughput
	}
	return ""
}

// entryLoads checks that two values were measured at the same load.
func (a *auditor) entryLoads(e *entry, before, after *quantity) error {
	q, err := a.values("load before", e.LoadBefore, "load after", e.LoadAfter)
	if err != nil {
		return err
	}
	out := Claim{Status: Holds, Computed: fmt.Sprintf("%s at a load of %s against %s at %s", before.printed, grouped(q[0].value), after.printed, grouped(q[1].value))}
	moved, ok := q[1].span().over(q[0].span())
	if ok && !moved.meets(span{low: 1 - littleLimit, high: 1 + littleLimit}) {
		out.Status, out.Reason, out.Wording = DoesNotHold, faultLoads, "compare both at the same load"
	}
	a.add(out)
	return nil
}

// parts reads the parts of a sum or an average: they have one unit.
func (a *auditor) parts(e *entry, of *quantity) ([]*quantity, error) {
	var all []*quantity
	for _, text := range e.Parts {
		q, err := a.value("parts", text)
		if err != nil {
			return nil, err
		}
		if !q.like(of) {
			return nil, fmt.Errorf("parts: %s has another unit than %s", q.printed, of.printed)
		}
		all = append(all, q)
	}
	if len(all) < 2 {
		return nil, errors.New("parts: at least two")
	}
	return all, nil
}

// held adds the outcome of a number that was computed from its parts.
func (a *auditor) held(q *quantity, got span, text string) {
	out := Claim{Said: q.printed, Status: Holds, Computed: text}
	if !got.meets(q.span()) {
		out.Status, out.Reason, out.Wording = DoesNotHold, faultValue, text
	}
	a.add(out)
}

func (a *auditor) entryTotal(e *entry) error {
	total, err := a.value("total", e.Total)
	if err != nil {
		return err
	}
	parts, err := a.parts(e, total)
	if err != nil {
		return err
	}
	sum := span{}
	for _, p := range parts {
		sum = sum.plus(p.span())
	}
	a.held(total, sum, in(total, sum.middle()))
	return nil
}

// in writes a number of the base unit in the unit of another.
func in(q *quantity, v float64) string {
	scale := q.unit.scale
	if scale == 0 {
		scale = 1
	}
	digits := math.Pow10(max(1, q.decimals))
	text := grouped(math.Round(v/scale*digits) / digits)
	unit := unitText(q)
	if first, rest, _ := strings.Cut(unit, " "); multipliers[first] != 0 {
		unit = rest
	}
	return strings.TrimSpace(text + " " + unit)
}

// entryAverage checks an average. Averages of averages need the number of operations
// behind each as weights.
func (a *auditor) entryAverage(e *entry) error {
	average, err := a.value("average", e.Average)
	if err != nil {
		return err
	}
	parts, err := a.parts(e, average)
	if err != nil {
		return err
	}
	weights := make([]float64, len(parts))
	if e.Weights != nil && len(e.Weights) != len(parts) {
		return fmt.Errorf("weights: %d for %d parts", len(e.Weights), len(parts))
	}
	total := 0.
	for i := range parts {
		weights[i] = 1
		if e.Weights != nil {
			w, err := a.value("weights", e.Weights[i])
			if err != nil {
				return err
			}
			if w.value <= 0 || w.sign < 0 {
				return errors.New("weights: each is above 0")
			}
			weights[i] = w.value
		}
		total += weights[i]
	}
	sum := span{}
	for i, p := range parts {
		sum = sum.plus(p.span().times(weights[i] / total))
	}
	a.held(average, sum, in(average, sum.middle()))
	return nil
}

// reach is how far beyond the largest measured size a forecast may go.
const reach = 2

// entryExtrapolation holds a forecast against a straight line through the last two
// measured sizes, and refuses one too far beyond them.
func (a *auditor) entryExtrapolation(e *entry) error {
	said, err := a.value("says", strings.TrimLeft(e.Says, "~abcdefghijklmnopqrstuvwxyz "))
	if err != nil {
		return err
	}
	at, err := a.value("at", e.At)
	if err != nil {
		return err
	}
	type point struct{ x, y span }
	var points []point
	for size, text := range e.Measured {
		q, err := a.values("measured", size, "measured", text)
		if err != nil {
			return err
		}
		if !q[1].like(said) {
			return fmt.Errorf("measured: %s has another unit than %s", q[1].printed, said.printed)
		}
		// A size is exact.
		points = append(points, point{span{low: q[0].value, high: q[0].value}, q[1].span()})
	}
	slices.SortFunc(points, func(p, q point) int { return int(math.Copysign(1, p.x.low-q.x.low)) })
	if len(points) < 2 || points[len(points)-1].x.low == points[len(points)-2].x.low {
		return errors.New("measured: at least two sizes")
	}
	last, before := points[len(points)-1], points[len(points)-2]
	step := (at.value - last.x.low) / (last.x.low - before.x.low)
	line := last.y.plus(last.y.minus(before.y).times(step))
	out := Claim{Said: e.Says, Status: NotUnderstood, Computed: "a straight line through the last two sizes: " + in(said, line.middle()),
		Reason: "a forecast, not a measurement: growth may end"}
	switch {
	case at.value > reach*last.x.low:
		out.Status, out.Reason = DoesNotHold, fmt.Sprintf("an extrapolation beyond %d times the largest measured size, %s", reach, grouped(last.x.low))
		out.Wording = "measure at " + grouped(at.value)
	case said.span().low > line.high:
		out.Status, out.Reason, out.Wording = DoesNotHold, "more than a straight line gives", in(said, line.middle())+" at most"
	}
	a.add(out)
	return nil
}

func (a *auditor) entryFailures(e *entry) error {
	q, err := a.values("failures", e.Failures, "operations", e.Operations)
	if err != nil {
		return err
	}
	if q[0].value != 0 || q[1].value <= 0 {
		return errors.New("failures: a bound is known for 0 failures in a number of operations")
	}
	least := 3 / q[1].value
	out := Claim{Status: DoesNotHold, Computed: fmt.Sprintf("0 failures in %s: rate < %.2g at 95 %%", grouped(q[1].value), least), Reason: faultCriterion,
		Wording: fmt.Sprintf("bound: %.2g", least)}
	if e.Bound != "" {
		bound, err := a.value("bound", e.Bound)
		if err != nil {
			return err
		}
		b := bound.span()
		if bound.percent() {
			b = b.times(0.01)
		}
		out.Status, out.Reason, out.Wording = Holds, "", ""
		if b.high < least*(1-vaguely) {
			out.Status, out.Reason, out.Wording = DoesNotHold, "the bound is too low for so few operations", fmt.Sprintf("bound: %.2g", least)
		}
	}
	a.add(out)
	return nil
}

// leastRuns is from how many runs of each side on a change can be held against a
// margin.
const leastRuns = 6

func (a *auditor) entryMargin(e *entry) error {
	out := Claim{Status: DoesNotHold, Computed: "no interval, no margin: not enough runs", Reason: faultMargin, Wording: "not enough runs to tell"}
	size, err := a.value("change", e.Change)
	if err != nil {
		return err
	}
	if e.Margin != "" && e.Runs != "" {
		q, err := a.values("margin", e.Margin, "runs", e.Runs)
		if err != nil {
			return err
		}
		out.Computed = fmt.Sprintf("a change of %s, a margin of %s, %s runs", size.printed, q[0].printed, grouped(q[1].value))
		switch {
		case q[1].value < leastRuns:
			out.Reason = fmt.Sprintf("%s runs are not enough: at least %d", grouped(q[1].value), leastRuns)
		case size.value-size.half > q[0].value+q[0].half:
			out.Reason, out.Wording = "the change is larger than the margin", ""
		default:
			out.Status, out.Reason, out.Wording = Holds, "", ""
		}
	}
	a.add(out)
	return nil
}
