package hoststat

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"plimsoll/internal/hoststat/cgroup"
	"plimsoll/internal/hoststat/network"
	"plimsoll/internal/hoststat/pmu"
	"plimsoll/internal/hoststat/power"
)

// Reader takes readings of one host. It keeps what does not change between readings.
type Reader struct {
	Probe   bool     // measure the last-level cache now and then, which takes a thousandth of a CPU
	Focus   []int    // processes that are read in detail even when they are idle
	Only    []string // sources to read; empty reads all
	Parent  int      // process whose descendants are marked with the command that it started; 0 for none
	Members []string // texts of /proc/PID/cgroup whose control groups are always read

	root     Root
	buffer   []byte
	previous map[int]processAge // by PID, for the processes worth details
	known    map[int]*identity
	groups   *cgroup.Reader
	counters *pmu.Counters
	noPMU    error
	probed   float64 // when the cache was measured
	power    power.Reader
	powered  *power.State // the last reading of it
	noPower  error
	followed []followed
	tasks    map[string]*knownTask // by folder, of the last reading
	tasksNow map[string]*knownTask // of this reading
	runs     map[int]float64       // times scheduled at the last reading, by thread
	caches   []int                 // first CPU of the last-level cache, by CPU
	network  *network.Reader
	places   map[int]*place // by process
	zones    zones
	now      float64 // of the reading in progress
}

// NewReader prepares readings of a tree.
func NewReader(root Root) *Reader {
	return &Reader{root: root, previous: map[int]processAge{}, known: map[int]*identity{}, places: map[int]*place{}}
}

// source is one source of a reading.
type source struct {
	name string
	read func(r *Reader, s *State) error
}

// sources lists all sources, in order of reading.
func sources() []source {
	return []source{
		{"cpus", readCPUs},
		{"power", readPower},
		{"cache", readCache},
		{"pmu", readPMU},
		{"resctrl", readCaches},
		{"softirqs", readSoftIRQs},
		{"irqs", readIRQs},
		{"pressure", readPressure},
		{"vmstat", readVM},
		{"memory", readMemory},
		{"nodes", readNodes},
		{"zones", readZones},
		{"disks", readDisks},
		{"filesystems", readFileSystems},
		{"links", readLinks},
		{"net", readNet},
		{"processes", readProcesses},
		{"groups", readGroups},
		{"sockets", readNetwork(readSockets)},
		{"queues", readNetwork(readQueues)},
		{"softnet", readNetwork(readSoftnet)},
		{"conntrack", readNetwork(readConntrack)},
	}
}

// Read takes a reading at an instant on the caller's clock, in seconds.
func (r *Reader) Read(at float64) *State {
	s := &State{At: at}
	r.now = at
	for _, source := range sources() {
		err := errNotAsked
		if len(r.Only) == 0 || slices.Contains(r.Only, source.name) {
			err = source.read(r, s)
		}
		if err != nil {
			if s.Missing == nil {
				s.Missing = map[string]string{}
			}
			s.Missing[source.name] = reason(err)
		}
	}
	return s
}

var errNotAsked = errors.New("not read, since each file takes a round trip")

func reason(err error) string {
	if errors.Is(err, fs.ErrNotExist) {
		return "the kernel does not have it: " + err.Error()
	}
	return err.Error()
}

// file reads a file into the reader's buffer; it is valid until the next call.
func (r *Reader) file(name string) ([]byte, error) {
	text, err := r.root.Append(r.buffer[:0], name)
	r.buffer = text[:0]
	if err != nil {
		return nil, fmt.Errorf("read /%s: %w", name, err)
	}
	return text, nil
}

// grown is a slice with at least n elements.
func grown[T any](s []T, n int) []T {
	if n > len(s) {
		return append(s, make([]T, n-len(s))...)
	}
	return s
}

// index finds an element by a key.
func index[T any](all []T, same func(*T) bool) *T {
	if i := slices.IndexFunc(all, func(x T) bool { return same(&x) }); i >= 0 {
		return &all[i]
	}
	return nil
}
