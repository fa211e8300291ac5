package events

import (
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Find is the folder of the run that goes on: the folder itself, or the one below it whose events are the newest, as in a tuning. It is
// empty if there is none.
func Find(dir string) (found string) {
	const levels = 2 // a tuning, and the interventions of its runs
	var newest time.Time
	var look func(dir string, depth int)
	look = func(dir string, depth int) {
		if info, err := os.Lstat(filepath.Join(dir, FileName)); err == nil && info.Mode().IsRegular() && (found == "" || info.ModTime().After(newest)) {
			found, newest = dir, info.ModTime()
		}
		if depth == levels {
			return
		}
		entries, err := os.ReadDir(dir)
		if err != nil {
			return
		}
		for _, e := range entries {
			if e.IsDir() && e.Name() != "trials" && !strings.HasPrefix(e.Name(), ".") {
				look(filepath.Join(dir, e.Name()), depth+1)
			}
		}
	}
	look(dir, 0)
	return found
}
