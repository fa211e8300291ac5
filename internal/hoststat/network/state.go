package network

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"plimsoll/internal/hoststat/parse"
)

// State is what is known of connections and of queues of network devices.
type State struct {
	Flows        []Flow        `json:"flows,omitempty"` // TCP connections by program and peer
	Listeners    []Listener    `json:"listeners,omitempty"`
	Destinations []Destination `json:"destinations,omitempty"` // to which thousands of local ports are in use
	Queues       []Queue       `json:"queues,omitempty"`       // of devices, for packets to send
	Spaces       []Namespace   `json:"spaces,omitempty"`       // other network namespaces of busy programs
	Holders      []Holder      `json:"holders,omitempty"`      // open files of programs with sockets
	Softnet      []Softnet     `json:"softnet,omitempty"`      // by CPU
	Conntrack    Conntrack     `json:"conntrack,omitzero"`
	Datagrams    []Datagrams   `json:"datagrams,omitempty"` // UDP sockets that dropped any
	Partial      string        `json:"partial,omitempty"`   // why connections have no counters, and listening sockets no backlog and no drops
	Readings     float64       `json:"readings"`            // counter: of connections, which are read less often where there are many
}

// Namespace is a network namespace other than the host's.
type Namespace struct {
	PID     int                `json:"pid"` // a process in it
	Program string             `json:"program"`
	Net     map[string]float64 `json:"net,omitempty"`
}

// Holder is a process with sockets.
type Holder struct {
	PID     int     `json:"pid"`
	Program string  `json:"program"`
	Files   float64 `json:"files"` // gauge: open files
	Limit   float64 `json:"limit"` // soft limit of them
}

// knownHolder is a process with sockets as it was read last.
type knownHolder struct {
	Holder
	at float64
}

// Softnet is a line of /proc/net/softnet_stat.
type Softnet struct {
	Processed float64 `json:"processed"` // packets
	Dropped   float64 `json:"dropped"`   // for lack of room in the backlog queue
	Squeezed  float64 `json:"squeezed"`  // times that a CPU had packets left at the end of its budget
}

func (s *Softnet) counters() []*float64 { return []*float64{&s.Processed, &s.Dropped, &s.Squeezed} }

// Datagrams is a UDP socket that dropped datagrams since it was opened.
type Datagrams struct {
	PID     int     `json:"pid,omitempty"`
	Program string  `json:"program,omitempty"`
	Port    int     `json:"port"`
	Inode   uint32  `json:"inode"`
	Drops   float64 `json:"drops"`  // counter: for lack of room in the receive buffer
	Unread  float64 `json:"unread"` // gauge, in bytes
}

// Conntrack is the connection tracking table.
type Conntrack struct {
	Count float64 `json:"count"` // gauge: connections tracked
	Max   float64 `json:"max"`   // gauge
	Drops float64 `json:"drops"` // packets dropped for lack of room
}

const (
	mostSpaces    = 8
	mostHolders   = 64
	mostDatagrams = 32
	holdersEvery  = 4.5    // seconds after which the open files of a process far from its limit are counted again
	mostFirstFile = 50_000 // open files looked at for the owners of sockets at the first reading
	mostFiles     = 200    // at each later one
)

// Files are the files of the host, in paths without a first slash.
type Files interface {
	Append(buffer []byte, name string) ([]byte, error)
	Names(folder string) ([]string, error)
	ReadLink(name string) (string, error)
}

// Process is a process of the host.
type Process struct {
	PID, Parent int
	Name        string
	Busy        bool // its open files are looked at
}

// Reader takes readings of a host.
type Reader struct {
	root    Files
	kernel  Kernel // nil if there is none to ask
	buffer  []byte
	table   *table
	owners  map[uint32]int // process by inode
	names   map[int]string
	partial string                // why the kernel was not asked for sockets
	spaces  map[string]int        // process by namespace
	host    string                // namespace of this process
	limits  map[int]serverSetting // by process
	holders map[int]knownHolder   // by process
	files   int                   // budget
	turn    int                   // process to look at next
}

// NewReader prepares readings of the files of a host, and of its kernel if they come from one.
func NewReader(root Files) *Reader {
	k := &Reader{root: root, owners: map[uint32]int{}, spaces: map[string]int{}, limits: map[int]serverSetting{}, holders: map[int]knownHolder{}, files: mostFirstFile}
	k.kernel, _ = root.(Kernel)
	k.table = newTable(k.owner)
	k.host, _ = root.ReadLink("proc/self/ns/net")
	return k
}

// file reads a file into the reader's buffer; it is valid until the next call.
func (k *Reader) file(name string) ([]byte, error) {
	text, err := k.root.Append(k.buffer[:0], name)
	k.buffer = text[:0]
	if err != nil {
		return nil, fmt.Errorf("read /%s: %w", name, err)
	}
	return text, nil
}

// ReadSockets reads TCP sockets, the namespaces of busy programs, and the open files of the
// programs with sockets.
func (k *Reader) ReadSockets(n *State, at float64, processes []Process) error {
	k.findOwners(processes)
	reading, err := k.readTable(at, processes)
	if err != nil {
		return err
	}
	n.Partial = k.partial
	n.Flows, n.Listeners, n.Destinations, n.Readings = reading.Flows, reading.Listeners, reading.Destinations, reading.Readings
	for i := range n.Listeners {
		k.limit(&n.Listeners[i], processes)
	}
	k.readSpaces(n)
	k.readHolders(n, at)
	for _, file := range []string{"proc/net/udp", "proc/net/udp6"} {
		if text, err := k.file(file); err == nil {
			n.Datagrams = append(n.Datagrams, parseUDP(text)...)
		}
	}
	for i := range n.Datagrams {
		n.Datagrams[i].PID, n.Datagrams[i].Program = k.owner(n.Datagrams[i].Inode)
	}
	return nil
}

// readTable asks the kernel for sockets, or reads files where it never answered.
func (k *Reader) readTable(at float64, processes []Process) (*Reading, error) {
	spaces := k.findSpaces(processes)
	err := errors.New("recorded files do not contain what the kernel counts per connection")
	if k.kernel != nil && k.table.files == nil {
		var reading *Reading
		if reading, err = k.table.Read(k.kernel, at, spaces); err == nil || k.table.last >= 0 {
			return reading, err
		}
	}
	if k.table.files == nil {
		k.partial, k.table.files = err.Error(), &socketFiles{root: k.root}
	}
	reading, missing := k.table.Read(nil, at, spaces)
	if missing != nil {
		return nil, fmt.Errorf("%s; %w", k.partial, missing)
	}
	return reading, nil
}

func (k *Reader) owner(inode uint32) (int, string) {
	pid := k.owners[inode]
	return pid, k.names[pid]
}

// findOwners finds the processes that hold sockets: at first of all processes, then, while
// connections lack an owner, of the busy ones and in turn of the others.
func (k *Reader) findOwners(processes []Process) {
	first := k.names == nil
	k.names = make(map[int]string, len(processes))
	for i := range processes {
		k.names[processes[i].PID] = processes[i].Name
	}
	for inode, pid := range k.owners {
		if _, alive := k.names[pid]; !alive {
			delete(k.owners, inode)
		}
	}
	if !first && k.table.unknown+k.table.unnamed == 0 {
		return
	}
	for i := range processes {
		if k.files > 0 && (first || processes[i].Busy) {
			k.scan(processes[i].PID)
		}
	}
	for n := 0; n < len(processes) && k.files > 0 && !first; n++ {
		k.turn++
		if p := &processes[k.turn%len(processes)]; !p.Busy {
			k.scan(p.PID)
		}
	}
	k.files = mostFiles
}

// initial is the process that listens for others, and hands its sockets to them.
const initial = 1

// scan finds the sockets of a process. Of processes that share one, the first one owns it, but
// for the initial process.
func (k *Reader) scan(pid int) {
	folder := "proc/" + strconv.Itoa(pid) + "/fd"
	k.files--
	names, err := k.root.Names(folder)
	if err != nil {
		return // not ours to read, or ended
	}
	slices.Reverse(names) // new ones first
	for _, name := range names[:min(len(names), max(0, k.files))] {
		k.files--
		to, err := k.root.ReadLink(folder + "/" + name)
		if err != nil {
			continue
		}
		inode, found := strings.CutPrefix(to, "socket:[")
		if n, err := strconv.ParseUint(strings.TrimSuffix(inode, "]"), 10, 32); found && err == nil {
			if known, ok := k.owners[uint32(n)]; !ok || known == initial || pid < known && pid != initial {
				k.owners[uint32(n)] = pid
			}
		}
	}
}

// findSpaces finds the network namespaces of busy processes, at first of all.
func (k *Reader) findSpaces(processes []Process) (all []int) {
	for name, pid := range k.spaces {
		if _, alive := k.names[pid]; !alive {
			delete(k.spaces, name)
		}
	}
	first := k.table.last < 0
	for i := range processes {
		p := &processes[i]
		if !p.Busy && !first || len(k.spaces) >= mostSpaces {
			continue
		}
		space, err := k.root.ReadLink("proc/" + strconv.Itoa(p.PID) + "/ns/net")
		if _, known := k.spaces[space]; err == nil && space != k.host && !known {
			k.spaces[space] = p.PID
		}
	}
	for _, pid := range k.spaces {
		all = append(all, pid)
	}
	slices.Sort(all)
	return all
}

func (k *Reader) readSpaces(n *State) {
	for _, pid := range k.spaces {
		folder := "proc/" + strconv.Itoa(pid) + "/net/"
		one := Namespace{PID: pid, Program: k.names[pid], Net: map[string]float64{}}
		for _, file := range []string{"snmp", "netstat"} {
			if text, err := k.file(folder + file); err == nil {
				ParseCounters(text, one.Net)
			}
		}
		n.Spaces = append(n.Spaces, one)
	}
	slices.SortFunc(n.Spaces, func(a, b Namespace) int { return a.PID - b.PID })
}

func (k *Reader) readHolders(n *State, at float64) {
	seen := map[int]bool{0: true}
	add := func(pid int) {
		if seen[pid] || len(n.Holders) >= mostHolders {
			return
		}
		seen[pid] = true
		if known, ok := k.holders[pid]; ok && known.Program == k.names[pid] && at >= known.at && at < known.at+holdersEvery && known.Files < known.Limit/2 {
			n.Holders = append(n.Holders, known.Holder)
			return
		}
		folder := "proc/" + strconv.Itoa(pid) + "/"
		text, err := k.file(folder + "limits")
		if err != nil {
			return
		}
		h := Holder{PID: pid, Program: k.names[pid], Limit: fileLimit(text)}
		names, err := k.root.Names(folder + "fd")
		if h.Files = float64(len(names)); err == nil && h.Limit > 0 {
			n.Holders = append(n.Holders, h)
			k.holders[pid] = knownHolder{h, at}
		}
	}
	for i := range n.Listeners {
		add(n.Listeners[i].PID)
	}
	for i := range n.Flows {
		add(n.Flows[i].PID)
	}
	maps.DeleteFunc(k.holders, func(pid int, _ knownHolder) bool { return !seen[pid] })
}

// fileLimit is the soft limit of open files in /proc/PID/limits; 0 is none.
func fileLimit(text []byte) float64 {
	for line := range bytes.Lines(text) {
		if rest, found := bytes.CutPrefix(line, []byte("Max open files")); found {
			n, _ := parse.Number(bytes.TrimSpace(rest))
			return n
		}
	}
	return 0
}

// ReadQueues reads the queues of network devices.
func (k *Reader) ReadQueues(n *State) (err error) {
	if k.kernel == nil {
		return errors.New("recorded files do not contain queues of devices")
	}
	n.Queues, err = queues(k.kernel)
	return err
}
