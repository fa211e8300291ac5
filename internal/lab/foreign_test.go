package lab

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"plimsoll/internal/effort"
)

// A folder from elsewhere may hold anything in the place of a file: reading it ends, takes
// little memory, and writes nothing elsewhere.
func TestForeignFolders(t *testing.T) {
	t.Parallel()
	sound := ran(t, "tutorial-aa", 5, "measure.blocks=2").Dir
	files := []string{
		"study.yaml", "study.json", "plan.json", "testbed.json", "journal.jsonl", "findings.json", "report.html",
		"trials/0001/record.json", "trials/0001/intervals.csv", "trials/0001/intervals.hlog", "trials/0001/latency.hlog",
	}
	kinds := map[string]func(name string) error{
		"pipe":      func(name string) error { return syscall.Mkfifo(name, 0o600) },
		"zero":      func(name string) error { return os.Symlink("/dev/zero", name) },
		"terminal":  func(name string) error { return os.Symlink("/dev/tty", name) },
		"loop":      func(name string) error { return os.Symlink(filepath.Base(name), name) },
		"elsewhere": func(name string) error { return os.Symlink("/etc/passwd", name) },
		"folder":    func(name string) error { return os.Mkdir(name, 0o700) },
		"huge": func(name string) error {
			if err := os.WriteFile(name, nil, 0o600); err != nil {
				return err
			}
			return os.Truncate(name, 1<<40)
		},
	}
	for k, kind := range slices.Sorted(maps.Keys(kinds)) {
		for f, file := range files {
			if !effort.Full() && (f+k)%3 != 0 { // each file and each kind, but not all pairs
				continue
			}
			t.Run(fmt.Sprintf("%s is a %s", file, kind), func(t *testing.T) {
				t.Parallel()
				dir := filepath.Join(folder(t), "foreign")
				if err := os.CopyFS(dir, os.DirFS(sound)); err != nil {
					t.Fatal(err)
				}
				name := filepath.Join(dir, file)
				if err := os.RemoveAll(name); err != nil {
					t.Fatal(err)
				}
				if err := kinds[kind](name); err != nil {
					t.Skip(err)
				}
				ways := make(chan map[string]error, 1)
				go func() { ways <- judged(dir, sound) }()
				select {
				case errs := <-ways:
					needed := []string{"study.yaml", "plan.json", "journal.jsonl", "trials/0001/record.json"}
					if slices.Contains(needed, file) && errs["report"] == nil {
						t.Error("it is judged all the same")
					}
				case <-time.After(time.Minute):
					t.Fatal("reading it does not end")
				}
			})
		}
	}
}
