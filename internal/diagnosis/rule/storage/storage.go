// Package storage holds the rules of diagnosis about block devices and file systems, one file
// each.
package storage

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"plimsoll/internal/diagnosis"
	"plimsoll/internal/hoststat"
)

// All lists the rules.
func All() []diagnosis.Rule {
	return []diagnosis.Rule{
		ioThrottle, fsyncStorm, diskNeighbour, ioScheduler, readAhead, writebackStall, checkpointBacklog,
		deviceCeiling, queueDepthLow, writeAmplification, fileSystemFull,
	}
}

const (
	// leastWait is the number of threads of a program that wait for storage on average, and
	// leastCost the share of its time, from which its waiting is worth a finding.
	leastWait = 0.1
	leastCost = 0.2
)

// batch are programs that copy, pack or scan. They use a disk as fast as it is, and nobody waits
// for each of their requests.
var batch = []string{
	"tar", "rsync", "cp", "mv", "dd", "gzip", "pigz", "zstd", "xz", "restic", "borg", "rclone", "duplicity", "pg_dump", "pg_basebackup", "mysqldump",
	"mariabackup", "xtrabackup", "bacula-fd", "find", "du", "updatedb", "locate", "fstrim", "git", "apt", "dpkg", "rpm", "dnf", "make", "ld", "cc1", "cc1plus", "go", "cargo", "rustc", "sync", "mkfs.ext4", "qemu-img",
}

// waiter is a program that waits for storage.
type waiter struct {
	*diagnosis.Program
	io   diagnosis.IO
	cost float64 // share of its time
}

// waiters are the programs that wait for storage, those that lose most threads to it first.
func waiters(e *diagnosis.Evidence) (all []waiter) {
	for _, p := range e.Services() {
		io := p.IO()
		w := waiter{p, io, p.Costs(io.Blocked)}
		if io.Blocked < leastWait || w.cost < leastCost || !e.Asked(p.Processes[0]) || len(e.Focus) == 0 && slices.Contains(batch, p.Name) {
			continue
		}
		all = append(all, w)
	}
	slices.SortStableFunc(all, func(a, b waiter) int { return cmp.Compare(b.cost*b.io.Blocked, a.cost*a.io.Blocked) })
	return all
}

// users are the programs with a share of a device's bytes, in falling order.
func users(e *diagnosis.Evidence, d *hoststat.Disk) []*diagnosis.Program {
	bytes := func(p *diagnosis.Program) float64 { io := p.IO(); return io.Bytes() }
	sorted := diagnosis.By(e.Services(), bytes)
	const least = 0.1
	return slices.DeleteFunc(sorted, func(p *diagnosis.Program) bool { return bytes(p) < least*(d.ReadBytes+d.WriteBytes) || bytes(p) == 0 })
}

// named lists what programs read and write: "postgres (7) 12.0 MB/s, ...".
func named(programs []*diagnosis.Program) string {
	var list []string
	for _, p := range programs[:min(3, len(programs))] {
		io := p.IO()
		list = append(list, fmt.Sprintf("%s with %.3g MB/s", p.Subject(), io.Bytes()/1e6))
	}
	return strings.Join(list, ", ")
}

// lowest are the active devices that lie on no other active one. Those on it show the same
// requests again.
func lowest(e *diagnosis.Evidence) (all []*hoststat.Disk) {
	busy := func(name string) bool {
		d := disk(e.Mean, name)
		return d != nil && inUse(d) > 0.05
	}
	for n := range e.Mean.Disks {
		d := &e.Mean.Disks[n]
		if busy(d.Name) && !slices.ContainsFunc(e.Facts.Disks[d.Name].Below, busy) && !strings.HasPrefix(d.Name, "zram") && !strings.HasPrefix(d.Name, "ram") {
			all = append(all, d)
		}
	}
	return all
}

// disk is a device of an interval by its name; nil if it was not used.
func disk(i *hoststat.Interval, name string) *hoststat.Disk {
	at := slices.IndexFunc(i.Disks, func(d hoststat.Disk) bool { return d.Name == name })
	if at < 0 {
		return nil
	}
	return &i.Disks[at]
}

// queue is a setting of a device.
func queue(e *diagnosis.Evidence, device, name string) string {
	return e.Setting("sys/block/" + device + "/queue/" + name)
}

// latency is the mean time of reads and writes.
func latency(d *hoststat.Disk) float64 {
	return (d.ReadTime + d.WriteTime) / max(1, d.Reads+d.Writes)
}

// inUse is the share of the time with requests in flight. The kernel counts whole ticks of its clock
// as busy in which a request began or ended, which is too much for short requests; their sum is an
// upper bound, too.
func inUse(d *hoststat.Disk) float64 { return min(d.Busy, d.QueueTime) }

// depth is the number of requests in flight while there are any.
func depth(d *hoststat.Disk) float64 { return d.QueueTime / max(1e-9, inUse(d)) }

// seekTime is below the time that any rotating disk needs for a random access: half a rotation at
// 15,000 rpm. Virtual disks often say that they rotate.
const seekTime = 0.002

// rotates reports whether a device is a rotating disk.
func rotates(e *diagnosis.Evidence, d *hoststat.Disk) bool {
	return queue(e, d.Name, "rotational") == "1" && strings.HasPrefix(d.Name, "sd") && latency(d) > seekTime && !virtual(e)
}

// virtual reports whether the host is a guest.
func virtual(e *diagnosis.Evidence) bool {
	maker := e.Setting("sys/class/dmi/id/sys_vendor") + " " + e.Setting("sys/class/dmi/id/product_name") + e.Setting("sys/hypervisor/type")
	return slices.ContainsFunc([]string{"QEMU", "KVM", "VMware", "Virtual", "xen", "Xen", "Amazon EC2", "Google", "OpenStack", "Nutanix", "DigitalOcean", "Hetzner", "innotek"}, func(name string) bool { return strings.Contains(maker, name) })
}

// alone is the number of threads of a program that wait for a device: those seen, or its share of
// the time in which the device is in use, if there is one request in flight at a time. Few readings
// see few waits.
func alone(d *hoststat.Disk, p *diagnosis.Program) float64 {
	io := p.IO()
	waiting := io.Blocked + io.In(asynchronous...)
	if depth(d) <= single {
		waiting = max(waiting, inUse(d)*min(1, io.Bytes()/max(1, d.ReadBytes+d.WriteBytes)))
	}
	return waiting
}

// asynchronous are kernel functions in which threads wait for I/O that they do not block on.
var asynchronous = []string{"read_events", "do_io_getevents", "io_cqring_wait"}

// inside reports whether a control group is another one or below it.
func inside(group, above string) bool {
	return group == above || strings.HasPrefix(group, strings.TrimSuffix(above, "/")+"/")
}

// active is the share of an interval with requests in flight from which storage was in use.
const active = 0.5

// sometimesToo judges the whole time, and if it finds nothing, the part of it in which a device was
// in use: trouble that comes and goes is small on average.
func sometimesToo(check func(e *diagnosis.Evidence) []diagnosis.Finding) func(e *diagnosis.Evidence) []diagnosis.Finding {
	return func(e *diagnosis.Evidence) []diagnosis.Finding {
		if found := check(e); len(found) > 0 {
			return found
		}
		part, share := e.During(func(i *hoststat.Interval) bool {
			return slices.ContainsFunc(i.Disks, func(d hoststat.Disk) bool { return inUse(&d) >= active })
		})
		if share < sometimes || share > steadily {
			return nil
		}
		found := check(part)
		for n := range found {
			f := &found[n]
			f.Impact *= share
			f.Says += " That is so {in use} of the time, in which storage is in use."
			f.Evidence = append(f.Evidence, diagnosis.Share("in use", share))
		}
		return found
	}
}
