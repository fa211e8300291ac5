package scene

import (
	"os"
	"slices"
	"testing"
	"testing/fstest"
)

// tree is a machine with caches, each with its level, type and size.
func tree(caches ...[3]string) fstest.MapFS {
	t := fstest.MapFS{}
	for i, c := range caches {
		folder := "devices/system/cpu/cpu0/cache/index" + string(rune('0'+i)) + "/"
		for j, name := range []string{"level", "type", "size"} {
			t[folder+name] = &fstest.MapFile{Data: []byte(c[j] + "\n")}
		}
	}
	return t
}

func TestReadCaches(t *testing.T) {
	l1, code := [3]string{"1", "Data", "48K"}, [3]string{"1", "Instruction", "64K"}
	l2, l3 := [3]string{"2", "Unified", "2048K"}, [3]string{"3", "Unified", "491520K"}
	for _, c := range []struct {
		name string
		sys  fstest.MapFS
		want Caches
	}{
		{"three levels", tree(l1, code, l2, l3), Caches{2 << 20, 480 << 20}},
		{"two levels", tree(l1, code, l2), Caches{48 << 10, 2 << 20}},
		{"one level", tree(l1, code), usual},
		{"none", tree(), usual},
		{"a last level without a size", tree(l1, l2, [3]string{"3", "Unified", "0K"}), usual},
	} {
		if got, err := ReadCaches(c.sys); err != nil || got != c.want {
			t.Errorf("%s: %+v, %v; want %+v", c.name, got, err, c.want)
		}
	}
	for _, broken := range [][3]string{{"x", "Data", "48K"}, {"1", "Data", "48 M"}} {
		if got, err := ReadCaches(tree(broken)); err == nil {
			t.Errorf("%v is read as %+v", broken, got)
		}
	}
}

// The CPU of a scene is one that its processes may use, and the same without its cause.
func TestCPUIsAllowed(t *testing.T) {
	allowed, err := CPUs()
	if err != nil || len(allowed) == 0 {
		t.Fatalf("CPUs %v: %v", allowed, err)
	}
	for seed := range uint64(20) {
		with, err1 := CPU(&Scene{seed: seed, Made: true})
		without, err2 := CPU(&Scene{seed: seed})
		if err1 != nil || err2 != nil || with != without || !slices.Contains(allowed, with) {
			t.Errorf("seed %d: CPU %d with the cause and %d without, of %v: %v, %v", seed, with, without, allowed, err1, err2)
		}
	}
}

func TestRemembered(t *testing.T) {
	file := t.TempDir() + "/file"
	if err := os.WriteFile(file, make([]byte, 1<<20), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := Remember(file); err != nil {
		t.Fatal(err)
	}
	if share, err := Remembered(file); err != nil || share != 1 {
		t.Errorf("the page cache holds %v of a file that was read: %v", share, err)
	}
	if _, err := Remembered(file + ".none"); err == nil {
		t.Error("a file that does not exist has pages")
	}
}
