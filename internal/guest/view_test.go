package guest_test

import (
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"plimsoll/internal/guest/view"
)

var update = flag.Bool("update", false, "write the golden files anew")

// tree is a recorded machine: a path and its quoted text on each line.
func tree(text string) func(string) ([]byte, error) {
	files := map[string]string{}
	for line := range strings.Lines(text) {
		path, quoted, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		if content, err := strconv.Unquote(quoted); err == nil {
			files[path] = content
		}
	}
	return func(name string) ([]byte, error) {
		content, ok := files[name]
		if !ok {
			return nil, fmt.Errorf("%s: %w", name, fs.ErrNotExist)
		}
		return []byte(content), nil
	}
}

func recorded(t *testing.T, name string) view.Topology {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "view", name+".tree"))
	if err != nil {
		t.Fatal(err)
	}
	v, err := view.Read(tree(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// lines is a view as lines of text.
func lines(v view.Topology) string {
	var b strings.Builder
	for _, r := range v.Rows() {
		fmt.Fprintf(&b, "%s: %s\n", r.Name, r.Value)
	}
	return b.String()
}

// The trees were recorded in guests under QEMU 7.2.
func TestRecordedTrees(t *testing.T) {
	for _, name := range []string{"spread-8", "one-socket-8", "dies-threads-8", "naples-shown-of-8", "numa"} {
		t.Run(name, func(t *testing.T) {
			got := lines(recorded(t, name))
			path := filepath.Join("testdata", "view", name+".table")
			if *update {
				if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(string(want), got); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

func TestCounts(t *testing.T) {
	for name, want := range map[string][5]int{ // sockets, dies, cores, threads, last-level caches
		"spread-8":          {8, 8, 8, 8, 8},
		"one-socket-8":      {1, 1, 8, 8, 1},
		"dies-threads-8":    {1, 2, 4, 8, 2},
		"naples-shown-of-8": {2, 4, 8, 8, 4},
		"numa":              {2, 2, 2, 2, 2},
	} {
		v := recorded(t, name)
		last, ok := v.LastLevel()
		if got := [5]int{v.Sockets(), v.Dies(), v.Cores(), v.Threads(), len(last.Sharing)}; got != want || !ok || last.Name != "L3" {
			t.Errorf("%s: %v with %s, want %v", name, got, last.Name, want)
		}
	}
	if n := recorded(t, "numa").Nodes; len(n) != 2 || !slices.Equal(n[0].Distances, []int{10, 21}) || n[1].CPUs != "1" || n[1].Memory < 64<<20 || n[1].Memory > 128<<20 {
		t.Errorf("nodes %+v", n)
	}
}

// A machine with the least that a kernel tells: no dies, caches or nodes.
func TestBareMachine(t *testing.T) {
	bare := "/sys/devices/system/cpu/online\t\"0\\n\"\n/sys/devices/system/cpu/cpu0/topology/physical_package_id\t\"-1\\n\"\n" +
		"/sys/devices/system/cpu/cpu0/topology/core_id\t\"0\\n\"\n"
	v, err := view.Read(tree(bare))
	if err != nil {
		t.Fatal(err)
	}
	want := "CPU(s): 1\nThread(s) per core: 1\nCore(s) per socket: 1\nDie(s) per socket: 1\nSocket(s): 1\n"
	if d := cmp.Diff(want, lines(v)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	for missing, want := range map[string]string{
		"online":  "read the online CPUs",
		"core_id": "read the topology of CPU 0",
	} {
		if _, err := view.Read(tree(strings.Replace(bare, missing, "gone", 1))); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("without %s: %v, want %q", missing, err, want)
		}
	}
	if _, err := view.Read(tree(strings.Replace(bare, "-1", "one", 1))); err == nil || !strings.Contains(err.Error(), `holds "one"`) {
		t.Errorf("%v", err)
	}
}

func TestUnevenMachine(t *testing.T) {
	v := view.Topology{CPUs: []view.CPU{{ID: 0}, {ID: 1, Core: 1}, {ID: 2, Socket: 1}}, Cache: []view.Cache{{Name: "L2", Size: 1 << 20, Sharing: []string{"0"}}, {Name: "L2", Size: 2 << 20, Sharing: []string{"1", "2"}}}}
	table := lines(v)
	for _, want := range []string{"uneven: 3 in 2", "1 MiB (1 instance) + 4 MiB (2 x 2 MiB)"} {
		if !strings.Contains(table, want) {
			t.Errorf("%q is not in\n%s", want, table)
		}
	}
}

func TestThisMachine(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("this machine has no /sys")
	}
	v, err := view.Read(os.ReadFile)
	if err != nil {
		t.Fatal(err)
	}
	if v.Threads() < runtime.NumCPU() || v.Sockets() < 1 || v.Cores() > v.Threads() || v.Sockets() > v.Dies() || v.Dies() > v.Cores() {
		t.Errorf("%d CPUs, but:\n%s", runtime.NumCPU(), lines(v))
	}
	for _, c := range v.Cache {
		var served []int
		for _, s := range c.Sharing {
			l, err := view.List(s)
			if err != nil {
				t.Fatal(err)
			}
			served = append(served, l...)
		}
		if len(served) > v.Threads() {
			t.Errorf("%s serves CPUs twice: %v", c.Name, c.Sharing)
		}
	}
}

func TestList(t *testing.T) {
	for s, want := range map[string][]int{"": nil, "0": {0}, "0-3,8": {0, 1, 2, 3, 8}, "5,1-2,2": {1, 2, 5}} {
		if got, err := view.List(s); err != nil || !slices.Equal(got, want) {
			t.Errorf("%q: %v, %v, want %v", s, got, err, want)
		}
	}
	for _, s := range []string{"a", "3-1", "-1", "1,", "0-70000", "0-65535,0-65535"} {
		if got, err := view.List(s); err == nil {
			t.Errorf("%q is taken as %v", s, got)
		}
	}
}

func FuzzRead(f *testing.F) {
	for _, name := range []string{"numa", "dies-threads-8"} {
		text, err := os.ReadFile(filepath.Join("testdata", "view", name+".tree"))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text))
	}
	f.Fuzz(func(t *testing.T, text string) {
		v, err := view.Read(tree(text))
		if err != nil {
			return
		}
		if v.Sockets() > v.Dies() || v.Dies() > v.Cores() || v.Cores() > v.Threads() {
			t.Errorf("%d sockets, %d dies, %d cores, %d threads", v.Sockets(), v.Dies(), v.Cores(), v.Threads())
		}
		if table := lines(v); !strings.Contains(table, "CPU(s)") {
			t.Errorf("table:\n%s", table)
		}
	})
}

func FuzzList(f *testing.F) {
	f.Add("0-3,8")
	f.Fuzz(func(t *testing.T, s string) {
		if l, err := view.List(s); err == nil && !slices.IsSorted(l) {
			t.Errorf("%q: %v", s, l)
		}
	})
}
