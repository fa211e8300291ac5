package difftest

import (
	"math"
	"testing"
)

type move struct {
	VM, to int
	gains  map[string]float64
	next   *move
	why    any
}

func TestLines(t *testing.T) {
	loop := &move{VM: 1}
	loop.next = loop
	for _, c := range []struct {
		got, want any
		lines     string
	}{
		{[]move{{VM: 1}}, []move{{VM: 1}}, ""},
		{[]move{{VM: 1}, {to: 7}}, []move{{VM: 2}, {to: 9}}, "[0].VM: 1, want 2\n[1].to: 7, want 9"},
		{move{gains: map[string]float64{"cpu": 1, "new": 2}}, move{gains: map[string]float64{"cpu": 1.5}}, "gains[cpu]: 1, want 1.5\ngains[new]: 2, want nothing"},
		{move{next: &move{VM: 3}}, move{next: &move{VM: 4}}, "next.VM: 3, want 4"},
		{move{next: &move{}}.next, (*move)(nil), "*"},
		{[]int{1, 2}, []int{1}, ": 2 elements, want 1"},
		{move{why: "a"}, move{why: 1}, "why: a, want 1"},
		{loop, &move{VM: 2, next: loop}, "VM: 1, want 2"},
		{math.NaN(), math.NaN(), ": NaN, want NaN"},
	} {
		if got := Lines(c.got, c.want); got != c.lines && (c.lines != "*" || got == "") {
			t.Errorf("%+v and %+v: %q, want %q", c.got, c.want, got, c.lines)
		}
	}
}
