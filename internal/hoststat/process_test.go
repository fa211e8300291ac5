package hoststat_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"plimsoll/internal/hoststat"
	"plimsoll/internal/hoststat/hoststattest"
)

// A process that executes another program, or that has no command line yet, has that of the program from then on.
func TestCommandAfterExec(t *testing.T) {
	tree := fstest.MapFS{}
	r := hoststat.NewReader(hoststattest.Tree(tree))
	r.Focus = []int{7}
	for i, c := range []struct{ name, command string }{
		{"plimsoll", "plimsoll\x00run\x00"}, {"fio", ""}, {"fio", "fio\x00--ioengine=rbd\x00"}, {"fio", "fio\x00--ioengine=rbd\x00"},
	} {
		tree["proc/7/stat"] = &fstest.MapFile{Data: []byte(fmt.Sprintf("7 (%s) R 1 7 7%s\n", c.name, strings.Repeat(" 5", 46)))}
		tree["proc/7/cmdline"] = &fstest.MapFile{Data: []byte(c.command)}
		got := "none"
		for _, p := range r.Read(float64(i)).Processes {
			got = p.Command
		}
		if want := strings.TrimSpace(strings.ReplaceAll(c.command, "\x00", " ")); got != want {
			t.Errorf("reading %d: %q, want %q", i, got, want)
		}
	}
}
