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

// The first reading has details of a program that was busy since it started, a few seconds ago: without them its threads have no rates in the first interval.
func TestFirstReadingOfYoungProcesses(t *testing.T) {
	tree := fstest.MapFS{}
	for pid, c := range map[int]struct{ started, used int }{7: {999_700, 200}, 8: {1000, 200}, 9: {1_000_000, 0}, 10: {1000, 2000}} {
		tree[fmt.Sprintf("proc/%d/stat", pid)] = &fstest.MapFile{Data: []byte(fmt.Sprintf("%d (p) R 1 7 7 0 -1 0 10 0 0 0 %d 0 0 0 20 0 1 0 %d%s\n", pid, c.used, c.started, strings.Repeat(" 0", 30)))}
		tree[fmt.Sprintf("proc/%d/status", pid)] = &fstest.MapFile{Data: []byte("Cpus_allowed_list:\t0-1\n")}
	}
	want := map[int]bool{7: true, 8: false, 9: false, 10: true} // 10 used 20 s in its life
	for _, p := range hoststat.NewReader(hoststattest.Tree(tree)).Read(0).Processes {
		if p.Detailed != want[p.PID] {
			t.Errorf("process %d: details %v, want %v", p.PID, p.Detailed, want[p.PID])
		}
		delete(want, p.PID)
	}
	if len(want) > 0 {
		t.Errorf("processes %v were not read", want)
	}
}

// A process in the focus keeps its threads beside busy programs with more threads than are read.
func TestFocusKeepsItsThreads(t *testing.T) {
	const busy, threads = 24, 64
	tree := fstest.MapFS{}
	write := func(pid, threads, used int) {
		line := func(id int) []byte {
			return []byte(fmt.Sprintf("%d (p) S 1 7 7 0 -1 0 10 0 0 0 %d 0 0 0 20 0 %d 0 1000%s\n", id, used, threads, strings.Repeat(" 0", 30)))
		}
		at := fmt.Sprintf("proc/%d/", pid)
		tree[at+"stat"], tree[at+"status"] = &fstest.MapFile{Data: line(pid)}, &fstest.MapFile{Data: []byte("Cpus_allowed_list:\t0-1\n")}
		for n := range threads {
			tree[fmt.Sprintf("%stask/%d/stat", at, pid+n)] = &fstest.MapFile{Data: line(pid + n)}
		}
	}
	for n := range busy {
		write(1000*(n+1), threads, 5000)
	}
	write(7, 8, 0)
	r := hoststat.NewReader(hoststattest.Tree(tree))
	r.Focus = []int{7}
	s := r.Read(0)
	if p := s.Processes[0]; p.PID != 7 || len(p.Tasks) != 8 {
		t.Errorf("process %d is first, with %d threads, want 7 with 8", p.PID, len(p.Tasks))
	}
	all := 0
	for _, p := range s.Processes {
		all += len(p.Tasks)
	}
	if all < 100 || all > 300 {
		t.Errorf("%d threads are read in all", all)
	}
}
