package storage

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"plimsoll/internal/parameter"
	"plimsoll/internal/workload"
)

// below lists the files of a scratch folder with their sizes and times.
func below(t *testing.T, env workload.Env) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(env.Dir, func(name string, d fs.DirEntry, err error) error {
		if os.IsNotExist(err) {
			return nil
		}
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		files[strings.TrimPrefix(name, env.Dir)] = fmt.Sprint(info.Size(), info.ModTime())
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func names(files map[string]string) string {
	var list []string
	for name := range files {
		list = append(list, name)
	}
	slices.Sort(list)
	return strings.Join(list, " ")
}

// empty is a load whose preparation needs no fio.
func empty(t *testing.T, disks string) *disks {
	t.Helper()
	return made(t, parameter.Settings{"disks": disks, "size": "64KiB", "precondition": "none"})
}

func TestPrepareMakesOnlyWhatIsWanted(t *testing.T) {
	env := here(t)
	for _, step := range []struct{ disks, want string }{
		{"3", " /disk-01 /disk-02 /disk-03 /manifest.json"},
		{"1", " /disk-01 /disk-02 /disk-03 /manifest.json"}, // another arm's disks are kept for it
		{"4", " /disk-01 /disk-02 /disk-03 /disk-04 /manifest.json"},
	} {
		if err := empty(t, step.disks).Prepare(t.Context(), env); err != nil {
			t.Fatal(err)
		}
		if got := names(below(t, env)); got != step.want {
			t.Errorf("for %s disks there are %q, want %q", step.disks, got, step.want)
		}
	}
	// The load that cleans may have fewer disks than the one that prepared.
	for range 2 {
		if err := empty(t, "1").Clean(t.Context(), env); err != nil {
			t.Fatal(err)
		}
		if left := below(t, env); len(left) > 0 {
			t.Errorf("left: %v", left)
		}
	}
}

func TestAPreparationThatFailedIsDoneAgain(t *testing.T) {
	env := here(t)
	if err := empty(t, "1").Prepare(t.Context(), env); err != nil {
		t.Fatal(err)
	}
	// A folder at the place of the second disk makes the second preparation fail.
	if err := os.Mkdir(env.Dir+"/disk-02", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := empty(t, "2").Prepare(t.Context(), env); err == nil {
		t.Fatal("a folder became a disk")
	}
	data, err := os.ReadFile(env.Dir + "/" + manifestName)
	if err != nil || !strings.Contains(string(data), "unfinished") {
		t.Errorf("the manifest says %q, %v", data, err)
	}
	// The first load must not take the half of the second for its own.
	if err := os.Remove(env.Dir + "/disk-01"); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(env.Dir + "/disk-02"); err != nil {
		t.Fatal(err)
	}
	if err := empty(t, "1").Prepare(t.Context(), env); err != nil {
		t.Fatal(err)
	}
	if got := names(below(t, env)); got != " /disk-01 /manifest.json" {
		t.Errorf("there are %q", got)
	}
}

func TestTheManifestTellsLoadsApart(t *testing.T) {
	env, on := workload.Env{Dir: "/x", Seed: 1}, disk{"/x/disk-01", 1 << 20}
	first := made(t, nil).layout(env, on)
	for name, s := range map[string]parameter.Settings{
		"fill": {"precondition": "zero"}, "compress": {"compress": "10%"}, "dedup": {"dedup": "10%"},
		"steady": {"precondition": "steady"}, "targets": {"targets": "/x/disk-01"}, "verify": {"read": "100%", "verify": "crc32c"},
	} {
		if made(t, s).layout(env, on) == first {
			t.Errorf("%s: the layout is that of the defaults", name)
		}
	}
	if made(t, nil).layout(env, disk{on.path, 2 << 20}) == first {
		t.Error("another size is taken for the same")
	}
	steady := func(s parameter.Settings) layout {
		s["precondition"] = "steady"
		return made(t, s).layout(env, on)
	}
	for name, s := range map[string]parameter.Settings{"block": {"block": "8KiB"}, "random": {"random": "0%"}, "working_set": {"working_set": "50%"}, "disks": {"disks": "2"}} {
		if steady(s) == steady(parameter.Settings{}) {
			t.Errorf("%s: disks that are steady under one pattern are taken for steady under another", name)
		}
	}
	for name, s := range map[string]parameter.Settings{"depth": {"depth": "4"}, "threads": {"threads": "4"}, "read": {"read": "100%"}} {
		if steady(s) != steady(parameter.Settings{}) {
			t.Errorf("%s: how many operate makes the disks be preconditioned anew", name)
		}
	}
	if made(t, parameter.Settings{"threads": "4", "read": "50%", "depth": "4"}).layout(env, on) != first {
		t.Error("the pattern of the load alone makes the disks be filled anew")
	}
	env.Seed = 2
	if made(t, nil).layout(env, on) == first {
		t.Error("the seed of the data is not in the layout")
	}
}

// Only what lacks is made: a disk that was removed or cut short, one of another arm.
func TestOnlyDisksThatLackAreMade(t *testing.T) {
	env := here(t)
	if err := empty(t, "3").Prepare(t.Context(), env); err != nil {
		t.Fatal(err)
	}
	before := below(t, env)
	if err := os.Remove(env.Dir + "/disk-02"); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(env.Dir+"/disk-03", 100); err != nil {
		t.Fatal(err)
	}
	if err := empty(t, "3").Prepare(t.Context(), env); err != nil {
		t.Fatal(err)
	}
	after := below(t, env)
	if after["/disk-01"] != before["/disk-01"] {
		t.Error("a disk that was as it should be was made again")
	}
	for _, name := range []string{"/disk-02", "/disk-03"} {
		if !strings.HasPrefix(after[name], "65536 ") {
			t.Errorf("%s is %q", name, after[name])
		}
	}
}

func TestCleanLeavesWhatItDidNotMake(t *testing.T) {
	env := here(t)
	if err := empty(t, "1").Prepare(t.Context(), env); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(env.Dir+"/notes", []byte("mine"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := empty(t, "1").Clean(t.Context(), env); err != nil {
		t.Fatal(err)
	}
	if data, err := os.ReadFile(env.Dir + "/notes"); err != nil || string(data) != "mine" {
		t.Errorf("got %q, %v", data, err)
	}
	// Targets are never removed.
	target := filepath.Join(t.TempDir(), "target")
	if err := os.WriteFile(target, []byte("data"), 0o644); err != nil {
		t.Fatal(err)
	}
	d := made(t, targets(target))
	held := manifest{Disks: map[string]layout{target: d.layout(env, disk{target, 4})}}
	if err := writeManifest(t.Context(), env, held); err != nil {
		t.Fatal(err)
	}
	if err := d.Clean(t.Context(), env); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(target); err != nil {
		t.Errorf("the target is gone: %v", err)
	}
}
