package main_test

import (
	"testing"
	"time"

	"plimsoll/cmd/plimsoll/clustercmd"
	"plimsoll/internal/live"
	"plimsoll/internal/live/apply"
)

func TestProgressText(t *testing.T) {
	move := apply.Change{Number: 2, Action: live.Move, VM: "web", From: "a", To: "b"}
	for want, c := range map[string]struct {
		p   apply.Progress
		ago time.Duration
	}{
		"2/5 move web from a to b":                                         {apply.Progress{Change: move, Of: 5}, 0},
		"2/5 move web from a to b, about 1 min 30 s left":                  {apply.Progress{Change: move, Of: 5, Left: 90 * time.Second}, 0},
		"2/5 move web from a to b, for 30 s, about 1 min 00 s left":        {apply.Progress{Change: move, Of: 5, Left: 90 * time.Second}, 30 * time.Second},
		"2/5 move web from a to b, for 2 min 00 s":                         {apply.Progress{Change: move, Of: 5, Left: 90 * time.Second}, 2 * time.Minute},
		"2/5 move web from a to b: made in 12 s, about 50 s left":          {apply.Progress{Change: move, Of: 5, Left: 50 * time.Second, Ended: &apply.Outcome{What: apply.Made, Seconds: 12.2}}, 0},
		"2/5 move web from a to b: not made in 3 s, about 1 min 00 s left": {apply.Progress{Change: move, Of: 5, Left: time.Minute, Ended: &apply.Outcome{What: apply.NotMade, Seconds: 3}}, 0},
	} {
		if got := clustercmd.ProgressText(c.p, c.ago); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
