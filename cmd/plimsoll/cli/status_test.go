package cli

import (
	"context"
	"errors"
	"fmt"
	"testing"
)

func TestExitStatus(t *testing.T) {
	for _, c := range []struct {
		err  error
		want int
	}{
		{nil, ExitDone},
		{Verdict("worse"), ExitVerdict},
		{Undecided("too few runs"), ExitOpen},
		{Mistake(errors.New("no such study")), ExitMistake},
		{Mistake(fmt.Errorf("start id: %w", context.Canceled)), ExitTrouble}, // stopped while it looked for mistakes
		{errors.New("the disk is gone"), ExitTrouble},
	} {
		if got := ExitStatus(c.err); got != c.want {
			t.Errorf("%v: exit status %d, want %d", c.err, got, c.want)
		}
	}
}
