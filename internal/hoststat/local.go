package hoststat

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"plimsoll/internal/hoststat/memory"
	"plimsoll/internal/hoststat/network"
	"plimsoll/internal/hoststat/numa"
	"plimsoll/internal/hoststat/pmu"
)

// Local is the tree of this host.
func Local() Root { return At("/") }

// At is the tree below a folder, with the sockets, counters and caches of this host.
func At(folder string) Root {
	return local{newTree(folder), network.Local(), sync.OnceValue(memory.NewProbe)}
}

type local struct {
	*tree
	network.Kernel
	probe func() *memory.Probe
}

// Counters opens the counters of the CPUs.
func (local) Counters(cpus []int) (*pmu.Counters, error) { return pmu.Open(cpus) }

// CacheLatency measures the last-level cache.
func (l local) CacheLatency() time.Duration { return l.probe().Latency() }

// ClockRead measures a reading of the monotonic clock: the least mean of some batches.
func (local) ClockRead() time.Duration {
	const batches, readings = 5, 200
	least := time.Duration(1<<63 - 1)
	for range batches {
		began := time.Now()
		for range readings {
			_ = time.Since(began)
		}
		least = min(least, time.Since(began))
	}
	return least / readings
}

// NodeShares is the share of the memory of a process that is on each NUMA node.
func (local) NodeShares(pid int, maps []byte) ([]float64, error) { return numa.Shares(pid, maps) }

// Space is the room of a mounted file system.
func (local) Space(mount string) (Space, error) {
	var at unix.Statfs_t
	if err := unix.Statfs(mount, &at); err != nil {
		return Space{}, err
	}
	block := float64(at.Frsize)
	return Space{block * float64(at.Blocks), block * float64(at.Bavail), float64(at.Files), float64(at.Ffree)}, nil
}

// tree reads files of a folder. It keeps those open that it reads repeatedly: opening a
// file of /proc costs more than reading it.
type tree struct {
	fs.FS
	folder string // with a slash at the end
	kept   kept
	seen   map[string]bool // read once since the files kept were closed
}

// kept are the open files by name.
type kept map[string]int

// mostKept bounds the open files.
const mostKept = 1024

func newTree(folder string) *tree {
	t := &tree{os.DirFS(folder), strings.TrimSuffix(folder, "/") + "/", kept{}, map[string]bool{}}
	runtime.AddCleanup(t, func(k kept) { k.close() }, t.kept)
	return t
}

func (k kept) close() {
	for name, file := range k {
		_ = unix.Close(file)
		delete(k, name)
	}
}

// ReadLink is where a symbolic link points to.
func (t *tree) ReadLink(name string) (string, error) { return os.Readlink(t.folder + name) }

// Append reads a file without a stat before: files of /proc report no size.
func (t *tree) Append(buffer []byte, name string) ([]byte, error) {
	if file, open := t.kept[name]; open {
		text, err := drain(buffer, file, name)
		if err == nil {
			return text, nil
		}
		_ = unix.Close(file) // the process has ended, and another one may have its PID
		delete(t.kept, name)
	}
	file, err := t.open(name)
	if err != nil {
		return buffer, &fs.PathError{Op: "open", Path: "/" + name, Err: err}
	}
	text, err := drain(buffer, file, name)
	if err == nil && t.keep(name) {
		t.kept[name] = file
		return text, nil
	}
	_ = unix.Close(file)
	if err != nil {
		return buffer, &fs.PathError{Op: "read", Path: "/" + name, Err: err}
	}
	return text, nil
}

// open opens a file; where the process has too many open, those kept are closed.
func (t *tree) open(name string) (file int, err error) {
	for {
		file, err = unix.Open(t.folder+name, unix.O_RDONLY|unix.O_CLOEXEC, 0)
		switch {
		case errors.Is(err, unix.EINTR):
		case errors.Is(err, unix.EMFILE) && len(t.kept) > 0:
			t.kept.close()
		default:
			return file, err
		}
	}
}

// keep reports whether a file is read for the second time, and may stay open. When there are too
// many open files, all begin anew: most belong to processes that have ended.
func (t *tree) keep(name string) bool {
	if strings.HasPrefix(name, "sys/devices/") {
		return false // several for each CPU, read rarely
	}
	if !t.seen[name] {
		if len(t.seen) >= 8*mostKept {
			clear(t.seen)
		}
		t.seen[name] = true
		return false
	}
	if len(t.kept) >= mostKept {
		t.kept.close()
		clear(t.seen)
	}
	return true
}

// Names lists a folder.
func (t *tree) Names(folder string) ([]string, error) {
	f, err := os.Open(filepath.Join(t.folder, folder))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return f.Readdirnames(-1)
}

// mostOfRecord is above the length of most files of a process and of sysfs and control groups, which are one record: a
// shorter answer is a whole file. Other files may come in pieces.
const mostOfRecord = 2048

// drain reads a file from its beginning into the room that a buffer has left.
func drain(buffer []byte, file int, name string) ([]byte, error) {
	record := strings.HasPrefix(name, "sys/") || strings.HasPrefix(name, "proc/") && name[5] >= '1' && name[5] <= '9'
	for at := int64(0); ; {
		if cap(buffer)-len(buffer) < 2*mostOfRecord {
			buffer = append(buffer, make([]byte, max(4*mostOfRecord, cap(buffer)))...)[:len(buffer)]
		}
		n, err := unix.Pread(file, buffer[len(buffer):cap(buffer)], at)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return buffer, err
		}
		buffer, at = buffer[:len(buffer)+n], at+int64(n)
		if n == 0 || record && n < mostOfRecord {
			return buffer, nil
		}
	}
}
