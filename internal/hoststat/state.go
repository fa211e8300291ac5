// Package hoststat reads the counters of a Linux host from its /proc and /sys, one file per
// source.
//
// A State is one reading: cumulative counters since boot, and gauges. An Interval is the
// difference of two readings: each counter per second. Times of CPUs are in seconds in a State,
// so in an Interval they are the CPUs used. A source that the host lacks leaves its fields
// empty and is listed in Missing with the reason.
package hoststat

import (
	"plimsoll/internal/hoststat/cgroup"
	"plimsoll/internal/hoststat/network"
	"plimsoll/internal/hoststat/pmu"
	"plimsoll/internal/hoststat/power"
	"plimsoll/internal/hoststat/psi"
)

// State is one reading of a host.
type State struct {
	At      float64 `json:"at"`                // seconds on the clock of the reader
	Seconds float64 `json:"seconds,omitempty"` // length of an interval; 0 in a reading

	CPUs       []CPU                `json:"cpus,omitempty"`     // by number; offline ones are zero
	SoftIRQs   map[string][]float64 `json:"softirqs,omitempty"` // by vector such as NET_RX, per CPU
	IRQs       []IRQ                `json:"irqs,omitempty"`
	Interrupts float64              `json:"interrupts,omitempty"` // of all kinds
	Switches   float64              `json:"switches,omitempty"`   // context switches
	Forks      float64              `json:"forks,omitempty"`
	Running    float64              `json:"running,omitempty"` // gauge: runnable threads
	Blocked    float64              `json:"blocked,omitempty"` // gauge: threads waiting for I/O

	Pressure map[string]psi.Pressure `json:"pressure,omitempty"` // by resource: cpu, io, memory, irq
	VM       map[string]float64      `json:"vm,omitempty"`       // /proc/vmstat: pswpin, pgmajfault, ...
	Memory   map[string]float64      `json:"memory,omitempty"`   // gauges of /proc/meminfo in bytes: MemTotal, Dirty, ...
	Nodes    []Node                  `json:"nodes,omitempty"`    // NUMA nodes
	Zones    []Zone                  `json:"zones,omitempty"`    // of memory, in the seconds after allocations waited for it

	Disks []Disk             `json:"disks,omitempty"`
	Files []FileSystem       `json:"files,omitempty"` // file systems that can be written
	Links []Link             `json:"links,omitempty"` // network devices
	Net   map[string]float64 `json:"net,omitempty"`   // /proc/net/snmp, netstat and snmp6: Tcp.RetransSegs, TcpExt.ListenOverflows, Udp6.InDatagrams, ...

	PMU          []pmu.CPU      `json:"pmu,omitempty"`          // cycles, instructions and cache misses, by number of the CPUs online
	Caches       []Cache        `json:"caches,omitempty"`       // last-level caches, where resctrl monitors them
	CacheLatency float64        `json:"cacheLatency,omitempty"` // gauge, in seconds: a read of a line from the last-level cache after 2 ms; 0 in readings without a measurement
	Power        *power.State   `json:"power,omitempty"`        // frequencies and idle states, read every ten seconds
	Network      *network.State `json:"network,omitempty"`      // connections, listening sockets and queues

	Processes []Process      `json:"processes,omitempty"` // in order of CPU time used
	Activity  []Activity     `json:"activity,omitempty"`  // of the threads that are scheduled most often, since the last reading
	Groups    []cgroup.Group `json:"groups,omitempty"`    // control groups of the processes with details

	Missing map[string]string `json:"missing,omitempty"` // why a source was not read, by its name
}

// Interval is the difference of two readings: cumulative counters are per second, gauges are
// those of the later reading or, over several intervals, their mean.
type Interval State

// CPU is the time of one CPU by mode, as in /proc/stat.
type CPU struct {
	User    float64 `json:"user"` // guests included
	Nice    float64 `json:"nice"`
	System  float64 `json:"system"`
	Idle    float64 `json:"idle"`
	IOWait  float64 `json:"iowait"`
	IRQ     float64 `json:"irq"`
	SoftIRQ float64 `json:"softirq"`
	Steal   float64 `json:"steal"`
	Guest   float64 `json:"guest"` // part of User and Nice
}

// Busy is the time in which the CPU ran something.
func (c CPU) Busy() float64 { return c.User + c.Nice + c.System + c.IRQ + c.SoftIRQ }

// Total is the time accounted for, about 1 per second for a CPU that is online.
func (c CPU) Total() float64 { return c.Busy() + c.Idle + c.IOWait + c.Steal }

// IRQ is an interrupt with its count per CPU.
type IRQ struct {
	Name   string    `json:"name"`   // number, or a label such as RES
	Device string    `json:"device"` // controller and action, such as virtio1-req.0, or the description of a label
	PerCPU []float64 `json:"perCPU"`
}

// Node is a NUMA node.
type Node struct {
	CPUs   []int              `json:"cpus"`
	Stat   map[string]float64 `json:"stat"`   // numastat: numa_hit, numa_miss, local_node, other_node, ... in pages
	Memory map[string]float64 `json:"memory"` // gauges in bytes: MemTotal, MemFree
}

// Disk is a whole block device with the counters of Documentation/admin-guide/iostats.rst.
type Disk struct {
	Name         string  `json:"name"`
	Reads        float64 `json:"reads"` // completed requests
	ReadMerges   float64 `json:"readMerges"`
	ReadBytes    float64 `json:"readBytes"`
	ReadTime     float64 `json:"readTime"` // sum over requests, in seconds
	Writes       float64 `json:"writes"`
	WriteMerges  float64 `json:"writeMerges"`
	WriteBytes   float64 `json:"writeBytes"`
	WriteTime    float64 `json:"writeTime"`
	Flushes      float64 `json:"flushes"`
	FlushTime    float64 `json:"flushTime"`
	Busy         float64 `json:"busy"`         // time with requests in flight
	QueueTime    float64 `json:"queueTime"`    // in an Interval the mean number of requests in flight
	Discards     float64 `json:"discards"`     // completed requests
	DiscardBytes float64 `json:"discardBytes"` // of them
	Number       string  `json:"number"`       // major and minor number, such as 253:0
	InDriver     float64 `json:"inDriver"`     // gauge: requests given to the driver; those in flight and not given to it are held by the I/O scheduler
}

// Link is a network device.
type Link struct {
	Name            string  `json:"name"`
	ReceivedBytes   float64 `json:"receivedBytes"`
	ReceivedPackets float64 `json:"receivedPackets"`
	ReceiveErrors   float64 `json:"receiveErrors"`
	ReceiveDrops    float64 `json:"receiveDrops"`
	SentBytes       float64 `json:"sentBytes"`
	SentPackets     float64 `json:"sentPackets"`
	SendErrors      float64 `json:"sendErrors"`
	SendDrops       float64 `json:"sendDrops"`
}

// Process is a process. Fields after Detailed are read only of processes that are active.
type Process struct {
	PID     int     `json:"pid"`
	Name    string  `json:"name"`    // comm
	Started float64 `json:"started"` // in clock ticks since boot; identifies the process with the PID
	State   string  `json:"state"`   // R, S, D, ... of the main thread
	User    float64 `json:"user"`    // CPU time
	System  float64 `json:"system"`
	Guest   float64 `json:"guest,omitempty"` // CPU time of vCPUs, part of User
	Threads int     `json:"threads"`
	Session int     `json:"session,omitempty"` // in which it is scheduled, with autogroups
	Nice    int     `json:"nice,omitempty"`
	Policy  int     `json:"policy,omitempty"` // of its main thread, as in sched(7): 0 is SCHED_OTHER
	Minor   float64 `json:"minorFaults,omitempty"`
	Major   float64 `json:"majorFaults,omitempty"`
	Reaped  float64 `json:"reaped,omitempty"`       // CPU time of its children that ended, and of theirs
	Faulted float64 `json:"reapedFaults,omitempty"` // their minor faults
	RSS     float64 `json:"rss"`                    // gauge, in bytes
	CPU     int     `json:"cpu"`                    // on which its main thread ran last
	BlockIO float64 `json:"blockIO,omitempty"`      // time waiting for block I/O, if the kernel accounts for delays
	Stopped float64 `json:"stopped,omitempty"`      // share of readings in state T
	Locked  float64 `json:"locked,omitempty"`       // share of readings in which its title says that it waits for a lock
	Origin  string  `json:"origin,omitempty"`       // command line of its ancestor, or its own, that Reader.Parent started

	Detailed    bool      `json:"detailed,omitempty"`
	Parent      int       `json:"parent,omitempty"`
	Command     string    `json:"command,omitempty"`     // command line
	Allowed     string    `json:"allowed,omitempty"`     // CPU list that it may run on
	Group       string    `json:"group,omitempty"`       // control group of its CPU time
	SetGroup    string    `json:"setGroup,omitempty"`    // control group of its CPU set
	MemoryGroup string    `json:"memoryGroup,omitempty"` // control groups of its memory and its block I/O
	IOGroup     string    `json:"ioGroup,omitempty"`
	Anon        float64   `json:"anon,omitempty"`       // gauge, in bytes: resident anonymous memory
	Swap        float64   `json:"swap,omitempty"`       // gauge, in bytes
	NodeMemory  []float64 `json:"nodeMemory,omitempty"` // gauge, in bytes by NUMA node: resident memory of a large process, now and then
	Blocked     float64   `json:"blocked,omitempty"`    // gauge: threads listed that are in state D for I/O or a lock
	Waits       Waits     `json:"waits,omitempty"`      // gauge: threads listed that sleep, by kernel function
	Contended   float64   `json:"contended,omitempty"`  // gauge: threads listed that wait for the same mutex, at the one with most
	RunDelay    float64   `json:"runDelay,omitempty"`   // time runnable and waiting for a CPU, summed over the threads listed
	Voluntary   float64   `json:"voluntary,omitempty"`
	Involuntary float64   `json:"involuntary,omitempty"`
	ReadChars   float64   `json:"readChars,omitempty"` // bytes of read calls, cached ones included
	WriteChars  float64   `json:"writeChars,omitempty"`
	ReadCalls   float64   `json:"readCalls,omitempty"`
	WriteCalls  float64   `json:"writeCalls,omitempty"`
	ReadBytes   float64   `json:"readBytes,omitempty"` // from block devices
	WriteBytes  float64   `json:"writeBytes,omitempty"`
	Tasks       []Thread  `json:"tasks,omitempty"` // the busiest threads
}

// Waits is the number of sleeping threads by the kernel function in which they sleep.
type Waits map[string]float64

// Busy is the CPU time of the process.
func (p *Process) Busy() float64 { return p.User + p.System }

// Thread is a thread of a process.
type Thread struct {
	TID        int     `json:"tid"`
	Started    float64 `json:"started,omitempty"` // in clock ticks since boot; 0 is unknown
	Name       string  `json:"name"`
	State      string  `json:"state"`
	User       float64 `json:"user"`
	System     float64 `json:"system"`
	RunDelay   float64 `json:"runDelay"`
	Runs       float64 `json:"runs"`                 // times scheduled on a CPU
	Voluntary  float64 `json:"voluntary,omitempty"`  // switches to another thread because it slept
	CPU        int     `json:"cpu"`                  // on which it ran last
	Moves      float64 `json:"moves,omitempty"`      // changes of CPU seen between readings
	Cache      int     `json:"cache,omitempty"`      // first CPU of the last-level cache of CPU
	CacheMoves float64 `json:"cacheMoves,omitempty"` // changes of it seen between readings
	Wait       string  `json:"wait,omitempty"`       // kernel function in which it sleeps, if the kernel shows it
	Locked     float64 `json:"locked,omitempty"`     // share of readings in which it slept in a futex
	Blocked    float64 `json:"blocked,omitempty"`    // share of readings in state D
}

// Busy is the CPU time of the thread.
func (t *Thread) Busy() float64 { return t.User + t.System }

// FileSystem is a mounted file system that can be written. All are gauges.
type FileSystem struct {
	Mount      string  `json:"mount"`
	Device     string  `json:"device"`
	Type       string  `json:"type"`
	Size       float64 `json:"size"`   // in bytes
	Free       float64 `json:"free"`   // in bytes, for users without privileges
	Inodes     float64 `json:"inodes"` // 0 where they are made as needed
	InodesFree float64 `json:"inodesFree"`
}
