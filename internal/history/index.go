package history

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"plimsoll/internal/trial/journal"
)

// settled is the age from which the times of a folder tell whether it was changed: clocks of file systems are coarse.
const settled = 2 * time.Second

// Index lists runs. Folders that have not changed since they were read last are not read again. It is safe for use by several
// goroutines, and several processes may use the same cache folder.
type Index struct {
	// Every is the time for which a list is taken as current; 0 looks at the folders each time.
	Every time.Duration

	cache   string
	mu      sync.Mutex
	folders map[string]*listed
}

// listed is one folder with results folders.
type listed struct {
	entries map[string]entry // by name
	looked  time.Time
}

// entry is what is known of a folder in it.
type entry struct {
	Stamp stamp // zero if the folder has to be read again
	Is    bool  // a results folder
	Run   Run   // without ID and Folder, and never running
}

// stamp tells whether a results folder has changed.
type stamp struct{ Folder, Journal, Size int64 }

// New makes an index that is kept in a folder; empty keeps none.
func New(cache string) *Index { return &Index{cache: cache, folders: map[string]*listed{}} }

// CacheFolder is the folder of the index for this user; empty if there is none.
func CacheFolder() string {
	dir, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	return filepath.Join(dir, "plimsoll", "runs")
}

// Runs lists the results folders in some folders, the latest last. Other folders and symbolic links are left out; a run that cannot be
// read is listed as damaged. A missing folder has no runs.
func (x *Index) Runs(ctx context.Context, folders ...string) ([]Run, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	var runs []Run
	seen := map[string]bool{}
	for _, folder := range folders {
		whole, err := filepath.Abs(folder)
		if err != nil {
			return nil, fmt.Errorf("find %s: %w", folder, err)
		}
		if seen[whole] {
			continue
		}
		seen[whole] = true
		l, err := x.look(ctx, whole)
		if err != nil {
			return nil, err
		}
		runs = slices.Grow(runs, len(l.entries))
		for name, e := range l.entries {
			if e.Is {
				runs = append(runs, e.run(folder, whole, name))
			}
		}
	}
	slices.SortFunc(runs, func(a, b Run) int { return cmp.Or(a.Started.Compare(b.Started), cmp.Compare(a.Folder, b.Folder)) })
	return runs, nil
}

// run is the run of an entry, with what depends on its place and on the instant.
func (e *entry) run(folder, whole, name string) Run {
	r := e.Run
	r.Folder, r.ID = filepath.Join(folder, name), ID(filepath.Join(whole, name))
	if (r.State == Interrupted || r.State == Unjudged) && going(filepath.Join(whole, name)) {
		r.State, r.Ended = Running, time.Time{}
	}
	return r
}

// Read reads one results folder. A run that cannot be read is damaged.
func Read(dir string) (Run, error) {
	whole, err := filepath.Abs(dir)
	if err != nil {
		return Run{}, fmt.Errorf("find %s: %w", dir, err)
	}
	e := entry{Run: read(whole)}
	r := e.run(filepath.Dir(whole), filepath.Dir(whole), filepath.Base(whole))
	r.Folder = dir
	return r, nil
}

// ID is the ID of a results folder by its absolute path.
func ID(dir string) string {
	sum := sha256.Sum256([]byte(dir))
	return hex.EncodeToString(sum[:])[:digestLength]
}

// look brings the list of a folder up to date.
func (x *Index) look(ctx context.Context, folder string) (*listed, error) {
	l := x.folders[folder]
	if l != nil && time.Since(l.looked) < x.Every {
		return l, nil
	}
	if l == nil {
		l = &listed{entries: load(x.cache, folder)}
	}
	names, err := os.ReadDir(folder)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("list runs: %w", err)
	}
	now := time.Now()
	fresh, stale := map[string]entry{}, []string(nil)
	stamps := map[string]stamp{}
	for _, d := range names {
		if !d.IsDir() || strings.HasPrefix(d.Name(), ".") {
			continue
		}
		s, err := stampOf(filepath.Join(folder, d.Name()), d)
		if err != nil {
			continue // it was removed
		}
		if old, known := l.entries[d.Name()]; known && old.Stamp == s {
			fresh[d.Name()] = old
			continue
		}
		if s.newest() < now.Add(-settled).UnixNano() {
			stamps[d.Name()] = s
		}
		stale = append(stale, d.Name())
	}
	for i, e := range readAll(ctx, folder, stale) {
		e.Stamp = stamps[stale[i]]
		fresh[stale[i]] = e
	}
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	changed := len(stamps) > 0
	for name := range l.entries {
		_, there := fresh[name]
		changed = changed || !there
	}
	l.entries, l.looked = fresh, now
	x.folders[folder] = l
	if changed {
		save(x.cache, folder, fresh)
	}
	return l, nil
}

// stampOf reads the times of a folder and of the journal in it, to which a run appends.
func stampOf(dir string, d fs.DirEntry) (stamp, error) {
	info, err := d.Info()
	if err != nil {
		return stamp{}, err
	}
	s := stamp{Folder: info.ModTime().UnixNano()}
	if log, err := os.Lstat(filepath.Join(dir, journal.Name)); err == nil {
		s.Journal, s.Size = log.ModTime().UnixNano(), log.Size()
	}
	return s, nil
}

func (s stamp) newest() int64 { return max(s.Folder, s.Journal) }

// readAll reads folders, several at a time: most of it is waiting for a disk.
func readAll(ctx context.Context, folder string, names []string) []entry {
	const most = 4
	entries := make([]entry, len(names))
	next := make(chan int)
	var workers sync.WaitGroup
	for range min(most, runtime.GOMAXPROCS(0), len(names)) {
		workers.Go(func() {
			for i := range next {
				dir := filepath.Join(folder, names[i])
				if exists(dir, "study.yaml") {
					entries[i] = entry{Is: true, Run: read(dir)}
				}
			}
		})
	}
	for i := range names {
		if ctx.Err() != nil {
			break
		}
		next <- i
	}
	close(next)
	workers.Wait()
	return entries
}
