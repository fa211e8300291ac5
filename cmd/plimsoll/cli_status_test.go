package main_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"plimsoll/cmd/plimsoll/cli"
)

func TestExitStatus(t *testing.T) {
	for _, c := range []struct {
		err  error
		want int
	}{
		{nil, cli.ExitDone},
		{cli.Verdict("worse"), cli.ExitVerdict},
		{cli.Undecided("too few runs"), cli.ExitOpen},
		{cli.Mistake(errors.New("no such study")), cli.ExitMistake},
		{cli.Mistake(fmt.Errorf("start id: %w", context.Canceled)), cli.ExitTrouble}, // stopped while it looked for mistakes
		{errors.New("the disk is gone"), cli.ExitTrouble},
	} {
		if got := cli.ExitStatus(c.err); got != c.want {
			t.Errorf("%v: exit status %d, want %d", c.err, got, c.want)
		}
	}
}
