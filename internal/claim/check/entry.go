package check

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"plimsoll/internal/claim"
	"plimsoll/internal/claim/document"
	"plimsoll/internal/claim/grammar"
	"plimsoll/internal/claim/judge"
	"plimsoll/internal/claim/number"
)

// Change audits a change, such as "+8.5 %", against its values before and after.
func Change(before, after, says string) claim.Claim {
	a := &auditor{doc: &document.Document{}, line: 1, text: before + " -> " + after + ": " + says}
	if err := entryChange(a, &entry{texts: map[string]string{"before": before, "after": after, "says": says}}); err != nil {
		a.add(claim.Claim{Status: claim.NotUnderstood, Reason: err.Error()})
	}
	return a.claims[0]
}

// stated parses a stated change.
func stated(a *auditor, says string) (*grammar.Saying, error) {
	s := grammar.Parse(a.doc.Locale, says)
	if len(s.Sayings) != 1 {
		return nil, fmt.Errorf("says: %q must be one change, such as \"over 10 %%\", \"3x faster\", \"+5 points\"", says)
	}
	return &s.Sayings[0], nil
}

func entryChange(a *auditor, e *entry) error {
	q, err := e.values(a, "before", "after")
	if err != nil {
		return err
	}
	before, after := q[0], q[1]
	grammar.ShareUnit(before, after)
	if before.Unit.Dim != after.Unit.Dim || before.Points != after.Points {
		a.add(claim.Claim{Status: claim.NotUnderstood, Reason: "the units of before and after differ: " + before.Printed + ", " + after.Printed})
		return nil
	}
	c := &judge.Change{A: before, B: after, Metric: metricNamed(e.texts["of"], before)}
	switch e.texts["better"] {
	case "", "neither":
	case "lower":
		c.Metric = number.MetricLatency
	case "higher":
		c.Metric = number.MetricThroughput
	default:
		return fmt.Errorf("better: %q must be \"higher\" or \"lower\"", e.texts["better"])
	}
	if e.texts["base"] != "" {
		base, err := e.value(a, "base")
		if err != nil {
			return err
		}
		c.Origin, c.HasOrigin = base.Span(), true
	}
	if e.texts["says"] != "" {
		one, err := stated(a, e.texts["says"])
		if err != nil {
			return err
		}
		if e.texts["base"] != "" && one.Direction == 0 && one.Sign == 0 {
			one.Direction = 1
			if after.Span().Middle() < before.Span().Middle() {
				one.Direction = -1
			}
		}
		out := judge.Of(one, c)
		out.Said = e.texts["says"]
		a.add(out)
	}
	if e.texts["load before"] == "" {
		return nil
	}
	return entryLoads(a, e, before, after)
}

func metricNamed(of string, q *number.Quantity) string {
	for w := range strings.FieldsSeq(strings.ToLower(of)) {
		if m := number.MetricWords[strings.Trim(w, ",()")]; m != "" {
			return m
		}
	}
	switch q.Unit.Dim {
	case number.DimTime:
		return number.MetricLatency
	case number.DimRate, number.DimByteSec, number.DimBitSec:
		return number.MetricThroughput
	}
	return ""
}

// entryLoads checks that two values were measured at the same load.
func entryLoads(a *auditor, e *entry, before, after *number.Quantity) error {
	q, err := e.values(a, "load before", "load after")
	if err != nil {
		return err
	}
	out := claim.Claim{Status: claim.Holds, Computed: fmt.Sprintf("%s at a load of %s against %s at %s", before.Printed, judge.Grouped(q[0].Value), after.Printed, judge.Grouped(q[1].Value))}
	moved, ok := q[1].Span().Over(q[0].Span())
	if ok && !moved.Meets(number.Span{Low: 1 - littleLimit, High: 1 + littleLimit}) {
		out.Refute(faultLoads, "compare both at the same load")
	}
	a.add(out)
	return nil
}

// parts reads the parts of a sum or an average: they have one unit.
func parts(a *auditor, e *entry, of *number.Quantity) ([]*number.Quantity, error) {
	var all []*number.Quantity
	for _, text := range e.lists["parts"] {
		q, err := value(a, "parts", text)
		if err != nil {
			return nil, err
		}
		if !q.Like(of) {
			return nil, fmt.Errorf("parts: the units of %s and %s differ", q.Printed, of.Printed)
		}
		all = append(all, q)
	}
	if len(all) < 2 {
		return nil, errors.New("parts: at least two")
	}
	return all, nil
}

// held adds the outcome of a number computed from its parts.
func held(a *auditor, q *number.Quantity, got number.Span, text string) {
	out := claim.Claim{Said: q.Printed, Status: claim.Holds, Computed: text}
	if !got.Meets(q.Span()) {
		out.Refute(judge.FaultValue, text)
	}
	a.add(out)
}

func entryTotal(a *auditor, e *entry) error {
	total, err := e.value(a, "total")
	if err != nil {
		return err
	}
	parts, err := parts(a, e, total)
	if err != nil {
		return err
	}
	sum := number.Span{}
	for _, p := range parts {
		sum = sum.Plus(p.Span())
	}
	held(a, total, sum, in(total, sum.Middle()))
	return nil
}

// in formats a number of the base unit in the unit of another.
func in(q *number.Quantity, v float64) string {
	scale := q.Unit.Scale
	if scale == 0 {
		scale = 1
	}
	digits := math.Pow10(max(1, q.Decimals))
	text := judge.Grouped(math.Round(v/scale*digits) / digits)
	unit := judge.UnitText(q)
	if first, rest, _ := strings.Cut(unit, " "); number.Multipliers[first] != 0 {
		unit = rest
	}
	return strings.TrimSpace(text + " " + unit)
}

// entryAverage checks an average. An average of averages needs the numbers of operations as
// weights.
func entryAverage(a *auditor, e *entry) error {
	average, err := e.value(a, "average")
	if err != nil {
		return err
	}
	parts, err := parts(a, e, average)
	if err != nil {
		return err
	}
	weights := make([]float64, len(parts))
	if e.lists["weights"] != nil && len(e.lists["weights"]) != len(parts) {
		return fmt.Errorf("weights: %d for %d parts", len(e.lists["weights"]), len(parts))
	}
	total := 0.
	for i := range parts {
		weights[i] = 1
		if e.lists["weights"] != nil {
			w, err := value(a, "weights", e.lists["weights"][i])
			if err != nil {
				return err
			}
			if w.Value <= 0 || w.Sign < 0 {
				return errors.New("weights: each must be above 0")
			}
			weights[i] = w.Value
		}
		total += weights[i]
	}
	sum := number.Span{}
	for i, p := range parts {
		sum = sum.Plus(p.Span().Times(weights[i] / total))
	}
	held(a, average, sum, in(average, sum.Middle()))
	return nil
}

// reach is the extrapolation limit of a forecast, as a multiple of the largest measured size.
const reach = 2

// entryExtrapolation compares a forecast with a straight line through the last two measured
// sizes, and rejects one beyond the extrapolation limit.
func entryExtrapolation(a *auditor, e *entry) error {
	said, err := value(a, "says", strings.TrimLeft(e.texts["says"], "~abcdefghijklmnopqrstuvwxyz "))
	if err != nil {
		return err
	}
	at, err := e.value(a, "at")
	if err != nil {
		return err
	}
	type point struct{ x, y number.Span }
	var points []point
	for size, text := range e.measured {
		units, err := value(a, "measured", size)
		if err != nil {
			return err
		}
		q, err := value(a, "measured", text)
		if err != nil {
			return err
		}
		if !q.Like(said) {
			return fmt.Errorf("measured: the units of %s and %s differ", q.Printed, said.Printed)
		}
		// Sizes are exact.
		points = append(points, point{number.Span{Low: units.Value, High: units.Value}, q.Span()})
	}
	slices.SortFunc(points, func(p, q point) int { return int(math.Copysign(1, p.x.Low-q.x.Low)) })
	if len(points) < 2 || points[len(points)-1].x.Low == points[len(points)-2].x.Low {
		return errors.New("measured: at least two sizes")
	}
	last, before := points[len(points)-1], points[len(points)-2]
	step := (at.Value - last.x.Low) / (last.x.Low - before.x.Low)
	line := last.y.Plus(last.y.Minus(before.y).Times(step))
	out := claim.Claim{Said: e.texts["says"], Status: claim.NotUnderstood, Computed: "linear extrapolation of the last two sizes: " + in(said, line.Middle()),
		Reason: "extrapolation, not a measurement"}
	switch {
	case at.Value > reach*last.x.Low:
		out.Status, out.Reason = claim.DoesNotHold, fmt.Sprintf("an extrapolation beyond %d times the largest measured size, %s", reach, judge.Grouped(last.x.Low))
		out.Wording = "measure at " + judge.Grouped(at.Value)
	case said.Span().Low > line.High:
		out.Refute("more than linear extrapolation", in(said, line.Middle())+" at most")
	}
	a.add(out)
	return nil
}

func entryFailures(a *auditor, e *entry) error {
	q, err := e.values(a, "failures", "operations")
	if err != nil {
		return err
	}
	if q[0].Value != 0 || q[1].Value <= 0 {
		return errors.New("failures must be 0, and operations more than 0")
	}
	least := 3 / q[1].Value
	out := claim.Claim{Status: claim.DoesNotHold, Computed: fmt.Sprintf("0 failures in %s: rate < %.2g at 95 %%", judge.Grouped(q[1].Value), least), Reason: faultCriterion,
		Wording: fmt.Sprintf("bound: %.2g", least)}
	if e.texts["bound"] != "" {
		bound, err := e.value(a, "bound")
		if err != nil {
			return err
		}
		b := bound.Span()
		if bound.Percent() {
			b = b.Times(0.01)
		}
		out.Hold()
		if b.High < least*(1-judge.Vaguely) {
			out.Refute("the bound is too low for so few operations", fmt.Sprintf("bound: %.2g", least))
		}
	}
	a.add(out)
	return nil
}

// leastRuns is the fewest runs of each side to compare a change with a margin.
const leastRuns = 6

func entryMargin(a *auditor, e *entry) error {
	out := claim.Claim{Status: claim.DoesNotHold, Computed: "no interval, no margin: not enough runs", Reason: faultMargin, Wording: "not enough runs to tell"}
	size, err := e.value(a, "change")
	if err != nil {
		return err
	}
	if e.texts["margin"] != "" && e.texts["runs"] != "" {
		q, err := e.values(a, "margin", "runs")
		if err != nil {
			return err
		}
		out.Computed = fmt.Sprintf("a change of %s, a margin of %s, %s runs", size.Printed, q[0].Printed, judge.Grouped(q[1].Value))
		switch {
		case q[1].Value < leastRuns:
			out.Reason = fmt.Sprintf("%s runs are not enough: at least %d", judge.Grouped(q[1].Value), leastRuns)
		case size.Value-size.Half > q[0].Value+q[0].Half:
			out.Reason, out.Wording = "the change is larger than the margin", ""
		default:
			out.Hold()
		}
	}
	a.add(out)
	return nil
}
