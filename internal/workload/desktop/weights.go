package desktop

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"plimsoll/internal/workload/desktop/rule"
)

// alike is what each operation adds to the baseline of the response, in seconds: with five operations that is 1 s, as in the
// published rules, whose weights are chosen so that each operation counts alike.
const alike = .2

// reference is what the base phase found: how an operation is repeated, how long that takes one session alone, and the weighted
// responses of its loops.
type reference struct {
	names   []string // of the operations
	repeats []int
	seconds []float64 // of an operation with its repeats
	loops   []float64 // responses, s
}

// newReference takes the times of loops, a row each.
func newReference(names []string, repeats []int, times [][]float64) *reference {
	r := &reference{names: names, repeats: repeats}
	for i := range names {
		var column []float64
		for _, row := range times {
			column = append(column, row[i])
		}
		r.seconds = append(r.seconds, rule.Baseline(column))
	}
	for _, row := range times {
		r.loops = append(r.loops, r.response(row))
	}
	return r
}

// weight is that of an operation in the response.
func (r *reference) weight(i int) float64 { return alike / r.seconds[i] }

// response is the weighted sum of the times of a loop.
func (r *reference) response(times []float64) (sum float64) {
	for i, t := range times {
		sum += r.weight(i) * t
	}
	return sum
}

// baseline is the response of one session alone, as the 4.1 rule takes it.
func (r *reference) baseline() float64 { return rule.Baseline(r.loops) }

// whole reports whether the reference is of these operations, with numbers that can be.
func (r *reference) whole(names []string) bool {
	if strings.Join(r.names, " ") != strings.Join(names, " ") || len(r.loops) == 0 {
		return false
	}
	for i := range r.names {
		if r.repeats[i] < 1 || r.repeats[i] > mostRepeats || !possible(r.seconds[i]) {
			return false
		}
	}
	for _, l := range r.loops {
		if !possible(l) {
			return false
		}
	}
	return true
}

func possible(seconds float64) bool { return seconds > 0 && !math.IsInf(seconds, 1) }

const loopsKey = "loops"

// String is the reference in one line: name=repeats*seconds of each operation, and the responses of the loops.
func (r *reference) String() string {
	var all []string
	for i, name := range r.names {
		all = append(all, fmt.Sprintf("%s=%d*%s", name, r.repeats[i], number(r.seconds[i])))
	}
	var loops []string
	for _, l := range r.loops {
		loops = append(loops, number(l))
	}
	return strings.Join(all, " ") + " " + loopsKey + "=" + strings.Join(loops, ",")
}

func number(v float64) string { return strconv.FormatFloat(v, 'g', 6, 64) }

// parseReference reads what String writes, for these operations.
func parseReference(text string, names []string) (*reference, error) {
	r := &reference{}
	bad := fmt.Errorf("%.60q is no reference of %s", text, strings.Join(names, ", "))
	for field := range strings.FieldsSeq(text) {
		name, value, _ := strings.Cut(field, "=")
		if name == loopsKey {
			for text := range strings.SplitSeq(value, ",") {
				v, err := strconv.ParseFloat(text, 64)
				if err != nil {
					return nil, bad
				}
				r.loops = append(r.loops, v)
			}
			continue
		}
		repeats, seconds, _ := strings.Cut(value, "*")
		n, err := strconv.Atoi(repeats)
		if err != nil {
			return nil, bad
		}
		v, err := strconv.ParseFloat(seconds, 64)
		if err != nil {
			return nil, bad
		}
		r.names, r.repeats, r.seconds = append(r.names, name), append(r.repeats, n), append(r.seconds, v)
	}
	if !r.whole(names) {
		return nil, bad
	}
	return r, nil
}

// describe prints the weights.
func (r *reference) describe() string {
	var all []string
	for i, name := range r.names {
		repeated := ""
		if r.repeats[i] > 1 {
			repeated = fmt.Sprintf(", %d times", r.repeats[i])
		}
		all = append(all, fmt.Sprintf("%s %.3g (%.3g s%s)", name, r.weight(i), r.seconds[i], repeated))
	}
	return fmt.Sprintf("weights (time of one session alone): %s; baseline %.4g s of %d loops", strings.Join(all, ", "), r.baseline(), len(r.loops))
}
