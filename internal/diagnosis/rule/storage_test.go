package rule_test

import (
	"testing"

	"plimsoll/internal/diagnosis"
	"plimsoll/internal/diagnosis/diagnosistest"
	"plimsoll/internal/hoststat"
	"plimsoll/internal/hoststat/cgroup"
)

// device sets the counters of the disk, on average and in all intervals.
func device(e *diagnosis.Evidence, d hoststat.Disk) {
	if d.Name == "" {
		d.Name = "nvme0n1"
	}
	d.Number = "259:0"
	diagnosistest.Each(e, func(i *hoststat.Interval) { i.Disks = []hoststat.Disk{d} })
}

// storing is a host with a disk and programs.
func storing(d hoststat.Disk, programs ...hoststat.Process) func(e *diagnosis.Evidence) {
	return func(e *diagnosis.Evidence) {
		device(e, d)
		for n, p := range programs {
			p.PID = 5 + n
			diagnosistest.Run(e, p)
		}
	}
}

// then changes a host further.
func then(first, second func(e *diagnosis.Evidence)) func(e *diagnosis.Evidence) {
	return func(e *diagnosis.Evidence) {
		first(e)
		second(e)
	}
}

func setting(name, value string) func(e *diagnosis.Evidence) {
	return func(e *diagnosis.Evidence) { e.Facts.Settings[name] = value }
}

// nowAndThen is a host whose disk and programs are in use in one of several intervals.
func nowAndThen(e *diagnosis.Evidence, every int, d hoststat.Disk, programs ...hoststat.Process) {
	quiet := diagnosistest.Healthy(8)
	storing(d, programs...)(e)
	for n := range e.Intervals {
		if n%every > 0 {
			e.Intervals[n].Disks, e.Intervals[n].Processes = quiet.Intervals[n].Disks, quiet.Intervals[n].Processes
		}
	}
	share := 1 / float64(every)
	e.Mean.Disks[0].Busy *= share
	for n := range programs {
		e.Mean.Processes[n].Blocked *= share
	}
}

var (
	// single has one read of 4 KiB in flight, of 100 us.
	single   = hoststat.Disk{Reads: 8000, ReadBytes: 8000 * 4096, ReadTime: 0.8, Busy: 0.8, QueueTime: 0.8, InDriver: 0.8}
	reader   = hoststat.Process{Name: "reader", User: 0.05, System: 0.1, ReadCalls: 8000, ReadChars: 8000 * 4096, ReadBytes: 8000 * 4096, Blocked: 0.8}
	full     = hoststat.Disk{Reads: 2000, ReadBytes: 200e6, ReadTime: 40, Busy: 1, QueueTime: 40, InDriver: 40}
	hungry   = hoststat.Process{Name: "scan", User: 0.3, System: 0.3, ReadCalls: 2000, ReadChars: 190e6, ReadBytes: 190e6, Blocked: 8}
	patient  = hoststat.Process{Name: "mariadbd", User: 0.1, System: 0.05, ReadCalls: 100, ReadChars: 4e6, ReadBytes: 4e6, Blocked: 0.7}
	easygoer = hoststat.Process{Name: "mariadbd", User: 0.5, System: 0.1, WriteBytes: 2e6, Blocked: 0.02}
)

func TestQueueDepthLow(t *testing.T) {
	backup, slowDatabase := reader, reader
	backup.Name, slowDatabase.Blocked = "tar", 0.05
	writer := reader
	writer.ReadBytes, writer.WriteBytes = 0, 8000*4096
	judge(t, "queue_depth_low", []scene{
		{"one read at a time", storing(single, reader), "reader (5)", "depth"},
		{"one read at a time while the kernel writes", storing(hoststat.Disk{Reads: 8000, ReadBytes: 8000 * 4096, ReadTime: 0.8, Writes: 300, WriteBytes: 30e6, WriteTime: 2, Flushes: 20, FlushTime: 0.2, Busy: 0.9, QueueTime: 3}, reader), "reader (5)", "depth"},
		{"several at a time", storing(hoststat.Disk{Reads: 8000, ReadBytes: 8000 * 4096, ReadTime: 4, Busy: 0.9, QueueTime: 4}, reader), "", ""},
		{"a backup", storing(single, backup), "", ""},
		{"an easy load", storing(hoststat.Disk{Reads: 500, ReadBytes: 500 * 4096, ReadTime: 0.05, Busy: 0.05, QueueTime: 0.05}, slowDatabase), "", ""},
		{"short reads, of which each counts as a tick", storing(hoststat.Disk{Reads: 500, ReadBytes: 500 * 4096, ReadTime: 0.05, Busy: 1, QueueTime: 0.05}, slowDatabase), "", ""},
		{"forced writes", storing(hoststat.Disk{Writes: 500, WriteBytes: 2e6, WriteTime: 0.1, Flushes: 500, FlushTime: 0.7, Busy: 0.8, QueueTime: 0.8}, writer), "", ""},
		{"large sequential reads", storing(hoststat.Disk{Reads: 2000, ReadBytes: 1e9, ReadTime: 0.9, Busy: 0.9, QueueTime: 0.9}, hungry), "", ""},
	})
}

func TestDeviceCeiling(t *testing.T) {
	backup, closed := hungry, hungry
	backup.Name = "rsync"
	closed.Blocked, closed.Waits = 0, hoststat.Waits{"io_cqring_wait": 4}
	judge(t, "device_ceiling", []scene{
		{"saturated", storing(full, hungry), "scan (5)", "faster device"},
		{"a backup that nobody waits for", storing(full, backup, easygoer), "", ""},
		{"a deep queue that is wanted", storing(hoststat.Disk{Reads: 400e3, ReadBytes: 1.6e9, ReadTime: 32, Busy: 1, QueueTime: 32}, closed), "", ""},
		{"a busy device with a short queue", storing(single, reader), "", ""},
	})
}

func TestDiskNeighbour(t *testing.T) {
	backup := hungry
	backup.Name = "rsync"
	judge(t, "disk_neighbour", []scene{
		{"a scan", storing(full, hungry, patient), "mariadbd (6)", "scan.service"},
		{"a backup that others wait for", storing(full, backup, patient), "mariadbd (6)", "rsync.service"},
		{"a backup that nobody waits for", storing(full, backup, easygoer), "", ""},
		{"alone", storing(full, hungry), "", ""},
		{"few requests in flight", storing(hoststat.Disk{Reads: 19000, ReadBytes: 160e6, ReadTime: 1.5, Busy: 0.97, QueueTime: 1.5}, hungry, patient), "", ""},
		{"a scan now and then", func(e *diagnosis.Evidence) { nowAndThen(e, 4, full, hungry, patient) }, "mariadbd (6)", "scan.service"},
		{"a scan once", func(e *diagnosis.Evidence) { nowAndThen(e, 30, full, hungry, patient) }, "", ""},
	})
}

func TestIOScheduler(t *testing.T) {
	held := hoststat.Disk{Reads: 200, ReadBytes: 800e3, ReadTime: 8, Busy: 1, QueueTime: 8, InDriver: 0.6}
	bfq := setting("sys/block/nvme0n1/queue/scheduler", "none mq-deadline kyber [bfq]")
	many := reader
	many.Blocked = 8
	saturated := held
	saturated.QueueTime, saturated.InDriver = 80, 32
	judge(t, "io_scheduler", []scene{
		{"bfq holds requests", then(storing(held, many), bfq), "reader (5)", "echo none > /sys/block/nvme0n1/queue/scheduler"},
		{"none", storing(held, many), "", ""},
		{"bfq passes them on", then(storing(full, many), bfq), "", ""},
		{"the driver is full", then(storing(saturated, many), bfq), "", ""},
		{"nobody waits", then(storing(held, easygoer), bfq), "", ""},
		{"mq-deadline holds what the driver does not take", then(storing(held, many), setting("sys/block/nvme0n1/queue/scheduler", "none [mq-deadline]")), "", ""},
		{"a rotating disk without a scheduler", func(e *diagnosis.Evidence) {
			storing(hoststat.Disk{Name: "sda", Reads: 100, ReadBytes: 400e3, ReadTime: 8, Busy: 1, QueueTime: 8, InDriver: 8}, many)(e)
			e.Facts.Settings["sys/block/sda/queue/rotational"], e.Facts.Settings["sys/block/sda/queue/scheduler"] = "1", "[none] mq-deadline"
		}, "sda", "mq-deadline"},
	})
}

func TestReadAhead(t *testing.T) {
	off := setting("sys/block/nvme0n1/queue/read_ahead_kb", "0")
	sequential := reader
	sequential.ReadCalls = 500 // of 64 KiB
	judge(t, "read_ahead", []scene{
		{"off", then(storing(single, sequential), off), "reader (5)", "read_ahead_kb"},
		{"random reads with it off", then(storing(single, reader), off), "", ""},
		{"as the kernel sets it", storing(single, sequential), "", ""},
		{"large requests past the page cache", then(storing(hoststat.Disk{Reads: 500, ReadBytes: 32e6, ReadTime: 0.8, Busy: 0.8, QueueTime: 0.8}, sequential), off), "", ""},
	})
}

func TestFsyncStorm(t *testing.T) {
	storm := hoststat.Disk{Writes: 800, WriteBytes: 6e6, WriteTime: 0.1, Flushes: 400, FlushTime: 0.7, Busy: 0.8, QueueTime: 0.8}
	log := hoststat.Process{Name: "log", User: 0.05, System: 0.1, WriteCalls: 400, WriteChars: 1e5, WriteBytes: 1.6e6, Blocked: 0.8, Waits: hoststat.Waits{"jbd2_log_wait_commit": 0.7}}
	few, unknown := log, log
	few.Blocked, few.Waits, few.User = 0.04, hoststat.Waits{"jbd2_log_wait_commit": 0.04}, 0.5
	unknown.Waits = nil
	judge(t, "fsync_storm", []scene{
		{"a log", storing(storm, log), "log (5)", "group commit"},
		{"functions of the kernel are hidden", storing(storm, unknown), "log (5)", "group commit"},
		{"a few commits per second", storing(hoststat.Disk{Writes: 50, WriteBytes: 1e6, WriteTime: 0.02, Flushes: 5, FlushTime: 0.05, Busy: 0.07, QueueTime: 0.07}, few), "", ""},
		{"commits that cost little", storing(storm, few), "", ""},
		{"a bulk writer that ends with a flush", storing(hoststat.Disk{Writes: 800, WriteBytes: 200e6, WriteTime: 10, Flushes: 12, FlushTime: 0.5, Busy: 1, QueueTime: 10}, log), "", ""},
	})
}

func TestWritebackStall(t *testing.T) {
	busy := hoststat.Disk{Writes: 400, WriteBytes: 100e6, WriteTime: 20, Busy: 1, QueueTime: 20}
	writer := hoststat.Process{Name: "writer", System: 0.2, WriteCalls: 1500, WriteChars: 90e6, WriteBytes: 90e6, Blocked: 0.7, Waits: hoststat.Waits{"balance_dirty_pages": 0.7}}
	victim := hoststat.Process{Name: "logger", User: 0.01, WriteBytes: 1e6, WriteChars: 1e6, Blocked: 0.5, Waits: hoststat.Waits{"balance_dirty_pages": 0.5}}
	tiny := func(e *diagnosis.Evidence) {
		memory(e, map[string]float64{hoststat.DirtyThreshold: 4 << 20, hoststat.DirtyBackground: 2 << 20, "Dirty": 4 << 20})
		e.Facts.Settings["proc/sys/vm/dirty_bytes"] = "4194304"
	}
	usual := func(e *diagnosis.Evidence) {
		memory(e, map[string]float64{hoststat.DirtyThreshold: 3 << 30, hoststat.DirtyBackground: 1 << 30, "Dirty": 2.5 * (1 << 30)})
	}
	blind, free := writer, writer
	blind.Waits = nil
	free.Blocked, free.Waits = 0.01, nil
	judge(t, "writeback_stall", []scene{
		{"a tiny threshold", then(storing(busy, writer), tiny), "writer (5)", "vm.dirty_ratio=20"},
		{"a tiny threshold, functions hidden", then(storing(busy, blind), tiny), "writer (5)", "vm.dirty_ratio=20"},
		{"pages of another program", then(storing(busy, writer, victim), usual), "logger (6)", "limit the writes of writer (5)"},
		{"a bulk writer at the speed of its disk", then(storing(busy, writer), usual), "", ""},
		{"many dirty pages and no waiting", then(storing(busy, free), usual), "", ""},
	})
}

func TestIOThrottle(t *testing.T) {
	slow := hoststat.Disk{Writes: 16, WriteBytes: 1e6, WriteTime: 0.01, Busy: 0.02, QueueTime: 0.02}
	member := hoststat.Process{Name: "writer", System: 0.01, WriteBytes: 1e6, Blocked: 0.9, IOGroup: "/system.slice/writer.service"}
	group := func(rate, limit float64, file string) func(e *diagnosis.Evidence) {
		return func(e *diagnosis.Evidence) {
			g := cgroup.Group{Path: "/system.slice/writer.service", IO: []cgroup.IO{{Device: "259:0", WriteBytes: rate}}, IOLimits: []cgroup.IOLimit{{Device: "259:0", Kind: "wbps", Value: limit, File: file}}}
			diagnosistest.Each(e, func(i *hoststat.Interval) { i.Groups = append(i.Groups, g) })
		}
	}
	plain := member
	plain.IOGroup = "/system.slice"
	file1 := "/sys/fs/cgroup/blkio/slow/blkio.throttle.write_bps_device"
	judge(t, "io_throttle", []scene{
		{"at the limit of a unit", then(storing(slow, member), group(1e6, 1e6, "/sys/fs/cgroup/x/io.max")), "writer (5)", "IOWriteBandwidthMax="},
		{"version 1", func(e *diagnosis.Evidence) {
			one := member
			one.IOGroup = "/slow/inner"
			storing(slow, one)(e)
			g := cgroup.Group{Path: "/slow", IO: []cgroup.IO{{Device: "259:0", Reads: 98}}, IOLimits: []cgroup.IOLimit{{Device: "259:0", Kind: "riops", Value: 100, File: file1}}}
			diagnosistest.Each(e, func(i *hoststat.Interval) { i.Groups = append(i.Groups, g) })
		}, "writer (5)", "echo '259:0 0' > " + file1},
		{"below the limit", then(storing(slow, member), group(1e5, 1e6, "/sys/fs/cgroup/x/io.max")), "", ""},
		{"another group's", then(storing(slow, plain), group(1e6, 1e6, "/sys/fs/cgroup/x/io.max")), "", ""},
	})
}

func TestCheckpointBacklog(t *testing.T) {
	checkpointer := hoststat.Process{Name: "postgres", Command: "postgres: checkpointer", User: 0.01, WriteBytes: 20e6}
	backend := hoststat.Process{Name: "postgres", Command: "postgres: app app", User: 0.1, WriteBytes: 1e6}
	bursts := func(blocked float64) func(e *diagnosis.Evidence) {
		return func(e *diagnosis.Evidence) {
			storing(hoststat.Disk{Writes: 1000, WriteBytes: 30e6, WriteTime: 1, Busy: 0.3, QueueTime: 1}, checkpointer, backend)(e)
			for n := range e.Intervals {
				i := &e.Intervals[n]
				for k := range i.Processes {
					p := &i.Processes[k]
					switch in := n%10 < 2; {
					case p.PID == 5 && in:
						p.WriteBytes = 100e6
					case p.PID == 5:
						p.WriteBytes = 0
					case p.PID == 6 && in:
						p.Blocked = blocked
					}
				}
				if i.Disks[0].WriteBytes = 2e6; n%10 < 2 {
					i.Disks[0].WriteBytes = 140e6
				}
			}
		}
	}
	shared := func(bytes float64) func(e *diagnosis.Evidence) {
		return func(e *diagnosis.Evidence) { memory(e, map[string]float64{"Shmem": bytes}) }
	}
	disk := hoststat.Disk{Writes: 1000, WriteBytes: 30e6, WriteTime: 1, Busy: 0.3, QueueTime: 1}
	judge(t, "checkpoint_backlog", []scene{
		{"checkpoints follow one another", then(storing(disk, checkpointer, backend), shared(256<<20)), "postgres (5)", "max_wal_size"},
		{"a checkpoint on demand", func(e *diagnosis.Evidence) {
			storing(disk, checkpointer, backend)(e)
			memory(e, map[string]float64{"Shmem": 1 << 30})
			for n := range e.Intervals {
				for k := range e.Intervals[n].Processes {
					if p := &e.Intervals[n].Processes[k]; p.PID == 5 && n > 10 {
						p.WriteBytes = 0
					}
				}
			}
		}, "", ""},
		{"a checkpoint of large buffers", then(storing(disk, checkpointer, backend), shared(8<<30)), "", ""},
		{"backends wait in bursts", bursts(0.8), "postgres (5)", "max_wal_size"},
		{"bursts that nobody waits for", bursts(0), "", ""},
		{"steady writes", storing(hoststat.Disk{Writes: 1000, WriteBytes: 30e6, WriteTime: 1, Busy: 0.3, QueueTime: 1}, checkpointer, backend), "", ""},
	})
}

func TestWriteAmplification(t *testing.T) {
	busy := hoststat.Disk{Writes: 8000, WriteBytes: 60e6, WriteTime: 10, Busy: 0.9, QueueTime: 10}
	rows := hoststat.Process{Name: "store", User: 0.1, WriteCalls: 2000, WriteChars: 0.4e6, WriteBytes: 8e6, Blocked: 0.7}
	copied := hoststat.Process{Name: "store", System: 0.2, WriteCalls: 900, WriteChars: 58e6, WriteBytes: 58e6, Blocked: 0.7}
	judge(t, "write_amplification", []scene{
		{"small random writes", storing(busy, rows), "store (5)", "whole pages"},
		{"as much as was written", storing(busy, copied), "", ""},
		{"writers that were not seen", func(e *diagnosis.Evidence) {
			storing(busy, rows)(e)
			vm(e, map[string]float64{"nr_dirtied": 60e6 / 4096})
		}, "", ""},
		{"dirty pages from before", func(e *diagnosis.Evidence) {
			storing(busy, rows)(e)
			e.Intervals[0].Memory["Dirty"] = 60 * 60e6
		}, "", ""},
	})
}

func TestFileSystemFull(t *testing.T) {
	room := func(f hoststat.FileSystem) func(e *diagnosis.Evidence) {
		return func(e *diagnosis.Evidence) {
			diagnosistest.Each(e, func(i *hoststat.Interval) { i.Files = []hoststat.FileSystem{f} })
		}
	}
	judge(t, "file_system_full", []scene{
		{"no space", room(hoststat.FileSystem{Mount: "/data", Type: "ext4", Size: 100e9, Free: 1e9, Inodes: 1e6, InodesFree: 5e5}), "/data", "du "},
		{"no inodes", room(hoststat.FileSystem{Mount: "/data", Type: "ext4", Size: 100e9, Free: 50e9, Inodes: 1e6, InodesFree: 5e3}), "/data", "du --inodes"},
		{"a small share of much", room(hoststat.FileSystem{Mount: "/data", Type: "xfs", Size: 20e12, Free: 400e9, Inodes: 1e9, InodesFree: 9e8}), "", ""},
		{"a boot partition", room(hoststat.FileSystem{Mount: "/boot", Type: "ext4", Size: 1e9, Free: 1e7, Inodes: 1e5, InodesFree: 9e4}), "", ""},
	})
}
