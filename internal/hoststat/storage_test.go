package hoststat_test

import (
	"encoding/json"
	"maps"
	"slices"
	"testing"
	"testing/fstest"

	"plimsoll/internal/hoststat"
	"plimsoll/internal/hoststat/cgroup"
	"plimsoll/internal/hoststat/hoststattest"
	"plimsoll/internal/hoststat/interval"
)

// recorded makes files of texts. A name that ends in a slash is an empty folder.
func recorded(parts ...map[string]string) fstest.MapFS {
	tree := fstest.MapFS{}
	for _, texts := range parts {
		for name, text := range texts {
			tree[name] = &fstest.MapFile{Data: []byte(text)}
		}
	}
	return tree
}

// writer is a host with a process that waits for a disk, in group /db of both versions' files.
func writer(sectors, cpu string) map[string]string {
	return map[string]string{
		"proc/stat":                     "cpu0 " + cpu + " 0 0 0 0 0 0 0 0 0\n",
		"proc/meminfo":                  "MemTotal: 1000000 kB\nDirty: 12 kB\n",
		"proc/vmstat":                   "nr_dirty_threshold 1000\nnr_dirty_background_threshold 500\nballoon_inflate 300\nballoon_deflate 100\npswpin 7\n",
		"proc/diskstats":                " 253       0 vda 100 0 800 50 10 0 " + sectors + " 70 2 100 120 0 0 0 0 5 9\n 253       1 vda1 90 0 700 40 0 0 0 0 0 0 0\n   7       0 loop0 0 0 0 0 0 0 0 0 0 0 0\n 252       0 dm-0 1 0 8 1 1 0 8 1 0 1 1\n",
		"sys/block/vda/inflight":        "       3        4\n",
		"sys/block/vda/mq/0/nr_tags":    "128\n",
		"sys/block/vda/mq/1/nr_tags":    "128\n",
		"sys/block/dm-0/dm/name":        "vg-data\n",
		"sys/block/dm-0/slaves/vda1":    "",
		"sys/block/loop0/size":          "2048\n",
		"sys/devices/system/cpu/online": "0\n",
		"proc/7/stat":                   "7 (db) D 1 7 7 0 -1 4194560 10 0 2 0 " + cpu + " 5 0 0 20 0 1 0 100 1000 50 0 0 0 0 0 0 0 0 0 0 0 0 0 0 17 3 0 0 9 0 0 0 0 0 0 0 0 0 0\n",
		"proc/7/status":                 "Name:\tdb\nRssAnon:\t 2048 kB\nVmSwap:\t 64 kB\nCpus_allowed_list:\t0-3\n",
		"proc/7/io":                     "rchar: 5\nwchar: 6\nsyscr: 1\nsyscw: 1\nread_bytes: 4096\nwrite_bytes: " + sectors + "\n",
		"proc/7/task/7/stat":            "7 (db) D 1 7 7 0 -1 4194560 10 0 2 0 " + cpu + " 5 0 0 20 0 1 0 100 1000 50 0 0 0 0 0 0 0 0 0 0 0 0 0 0 17 3 0 0 9 0 0 0 0 0 0 0 0 0 0\n",
		"proc/7/task/7/wchan":           "balance_dirty_pages",
	}
}

var (
	version1 = map[string]string{
		"proc/self/mountinfo": "1 2 253:1 / / rw - ext4 /dev/vda1 rw\n30 23 0:26 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n31 23 0:27 / /sys/fs/cgroup/blkio rw - cgroup cgroup rw,blkio\n",
		"proc/7/cgroup":       "7:blkio:/slow\n4:memory:/db\n0::/\n",
		"sys/fs/cgroup/memory/db/memory.limit_in_bytes":            "104857600\n",
		"sys/fs/cgroup/memory/db/memory.usage_in_bytes":            "104857599\n",
		"sys/fs/cgroup/memory/db/memory.oom_control":               "oom_kill_disable 0\nunder_oom 0\noom_kill 3\n",
		"sys/fs/cgroup/memory/memory.limit_in_bytes":               "9223372036854771712\n",
		"sys/fs/cgroup/blkio/slow/blkio.throttle.write_bps_device": "253:0 1048576\n",
		"sys/fs/cgroup/blkio/slow/blkio.throttle.io_service_bytes": "253:0 Read 10\n253:0 Write 20\n253:0 Total 30\nTotal 30\n",
		"sys/fs/cgroup/blkio/slow/blkio.throttle.io_serviced":      "253:0 Read 1\n253:0 Write 2\nTotal 3\n",
		"space/room": "1000000 50000 200 100",
	}
	version2 = map[string]string{
		"proc/self/mountinfo":              "1 2 253:1 / / rw - xfs /dev/vda1 rw\n2 2 7:0 / /snap ro - squashfs /dev/loop0 ro\n30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n",
		"proc/7/cgroup":                    "0::/db\n",
		"sys/fs/cgroup/db/memory.max":      "209715200\n",
		"sys/fs/cgroup/db/memory.high":     "104857600\n",
		"sys/fs/cgroup/db/memory.events":   "low 0\nhigh 40\nmax 2\noom 1\noom_kill 3\n",
		"sys/fs/cgroup/db/memory.pressure": "some avg10=0.00 avg60=0.00 avg300=0.00 total=2500000\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=1\n",
		"sys/fs/cgroup/db/io.max":          "253:0 rbps=max wbps=1048576 riops=max wiops=120\n",
		"sys/fs/cgroup/db/io.stat":         "253:0 rbytes=10 wbytes=20 rios=1 wios=2 dbytes=0 dios=0\n",
		"space/room":                       "1000000 50000 0 0",
	}
)

// Limits of memory and of block I/O are read in both versions of control groups.
func TestGroupLimits(t *testing.T) {
	for name, c := range map[string]struct {
		files                            map[string]string
		memory, io, memoryFile, ioFolder string
		limits                           int
		most                             float64
		mostFile                         string
	}{
		"version 1": {version1, "/db", "/slow", "/sys/fs/cgroup/memory/db/memory.limit_in_bytes", "/sys/fs/cgroup/blkio/slow/blkio.throttle.write_bps_device", 1, 100 << 20, "/sys/fs/cgroup/memory/db/memory.limit_in_bytes"},
		"version 2": {version2, "/db", "/db", "/sys/fs/cgroup/db/memory.high", "/sys/fs/cgroup/db/io.max", 2, 200 << 20, "/sys/fs/cgroup/db/memory.max"},
	} {
		s := hoststat.NewReader(hoststattest.Tree(recorded(writer("2000", "1000"), c.files))).Read(0)
		groups := map[string]cgroup.Group{}
		for _, g := range s.Groups {
			groups[g.Path] = g
		}
		p := s.Processes[0]
		if p.MemoryGroup != c.memory || p.IOGroup != c.io {
			t.Errorf("%s: groups of the process %q and %q", name, p.MemoryGroup, p.IOGroup)
		}
		if g := groups[c.memory]; g.MemoryLimit != 100<<20 || g.MemoryFile != c.memoryFile || g.Kills != 3 || g.MemoryMax != c.most || g.MaxFile != c.mostFile || g.Version == 2 && g.OutOfMemory != 1 {
			t.Errorf("%s: memory limit %+v", name, g)
		}
		g := groups[c.io]
		if len(g.IOLimits) != c.limits || g.IOLimits[0] != (cgroup.IOLimit{Device: "253:0", Kind: "wbps", Value: 1 << 20, File: c.ioFolder}) {
			t.Errorf("%s: limits of block I/O %+v", name, g.IOLimits)
		}
		if want := []cgroup.IO{{Device: "253:0", ReadBytes: 10, WriteBytes: 20, Reads: 1, Writes: 2}}; !slices.Equal(g.IO, want) {
			t.Errorf("%s: block I/O %+v", name, g.IO)
		}
		if len(s.Files) != 1 || s.Files[0].Mount != "/" || s.Files[0].Free != 50000 {
			t.Errorf("%s: file systems %+v", name, s.Files)
		}
	}
}

// What a process waits for, its memory, and the requests in the driver are read; several
// readings make means of them.
func TestStorageOfProcess(t *testing.T) {
	reader := hoststat.NewReader(hoststattest.Tree(recorded(writer("2000", "1000"), version2)))
	facts, err := reader.Facts()
	if err != nil || facts.Disks["vda"].Depth != 256 || facts.Disks["dm-0"].Label != "vg-data" || !slices.Equal(facts.Disks["dm-0"].Below, []string{"vda"}) {
		t.Errorf("disks %+v, %v", facts.Disks, err)
	}
	var series interval.Series
	series.Add(reader.Read(0))
	series.Add(hoststat.NewReader(hoststattest.Tree(recorded(writer("4000", "1100"), version2))).Read(2))
	mean := series.Mean()
	p := mean.Processes[0]
	if p.Swap != 64<<10 || p.Anon != 2<<20 || p.Blocked != 1 || !maps.Equal(p.Waits, hoststat.Waits{"balance_dirty_pages": 1}) || p.WriteBytes != 1000 {
		t.Errorf("process %+v", p)
	}
	if len(mean.Disks) != 2 || mean.Disks[0].Number != "253:0" || mean.Disks[0].InDriver != 7 || mean.Disks[0].WriteBytes != 512000 || mean.Disks[0].Flushes != 0 {
		t.Errorf("disks %+v", mean.Disks)
	}
	if m := mean.Memory; m[hoststat.DirtyThreshold] != 1000*4096 || m[hoststat.DirtyBackground] != 500*4096 || m[hoststat.Balloon] != 200*4096 {
		t.Errorf("memory %v", m)
	}
	if _, read := mean.VM["pswpin"]; !read || mean.Missing["filesystems"] != "" {
		t.Errorf("vmstat %v, missing %v", mean.VM, mean.Missing)
	}
}

// Whatever the files of storage and memory hold, reading them gives finite numbers.
func FuzzStorage(f *testing.F) {
	f.Add("253:0 rbps=max wbps=1048576", "253:0 Read 10", " 253 0 vda 1 0 8 1 1 0 8 1 0 1 1 0 0 0 0 5 9", "VmSwap:\t 64 kB", "3 4")
	f.Add("=", ":", "", "RssAnon:", "-1")
	f.Fuzz(func(t *testing.T, limits, counts, disks, status, inflight string) {
		files := writer("2000", "1000")
		files["proc/diskstats"], files["proc/7/status"], files["sys/block/vda/inflight"] = disks, status, inflight
		for name, text := range version2 {
			files[name] = text
		}
		files["sys/fs/cgroup/db/io.max"], files["sys/fs/cgroup/db/io.stat"] = limits, counts
		files["sys/fs/cgroup/db/memory.events"], files["proc/vmstat"] = counts, counts
		first := hoststat.NewReader(hoststattest.Tree(recorded(files))).Read(0)
		for n, text := range map[string]string{"blkio.throttle.io_serviced": counts, "blkio.throttle.read_bps_device": limits} {
			version1 := writer("2000", "1000")
			version1["proc/self/mountinfo"], version1["proc/7/cgroup"] = "31 23 0:27 / /sys/fs/cgroup/blkio rw - cgroup cgroup rw,blkio\n", "7:blkio:/slow\n"
			version1["sys/fs/cgroup/blkio/slow/"+n] = text
			hoststat.NewReader(hoststattest.Tree(recorded(version1))).Read(0)
		}
		if _, err := json.Marshal(first); err != nil {
			t.Error(err)
		}
	})
}
