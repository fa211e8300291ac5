package cgroup

import (
	"bytes"

	"plimsoll/internal/hoststat/parse"
)

// unlimited is above any memory limit: version 1 reports a huge number for none.
const unlimited = 1 << 60

// read1 reads the files of version 1.
func (f files) read1(folder string, g *Group) {
	quota, period := 0., 0.
	f.setting("cpu.cfs_quota_us", gauge(&quota)) // -1 is none
	f.setting("cpu.cfs_period_us", gauge(&period))
	if quota > 0 && period > 0 {
		g.Quota = quota / period
	}
	f.setting("cpu.shares", gauge(&g.Weight))
	g.Weight *= 100. / 1024
	f.current("cpuacct.usage", func(text []byte) {
		nanoseconds, _ := parse.Number(text)
		g.Usage = nanoseconds * 1e-9
	})
	f.setting("cpuset.effective_cpus", func(text []byte) { g.CPUSet = string(text) })
	f.current("memory.usage_in_bytes", gauge(&g.Memory))
	f.setting("memory.limit_in_bytes", gauge(&g.MemoryLimit))
	if g.MemoryLimit > unlimited {
		g.MemoryLimit = 0
	}
	if g.MemoryLimit > 0 {
		g.MemoryFile = folder + "/memory.limit_in_bytes"
		g.MemoryMax, g.MaxFile = g.MemoryLimit, g.MemoryFile
	}
	f.current("memory.oom_control", func(text []byte) {
		parse.Pairs(text, func(name []byte, value float64) {
			if string(name) == "oom_kill" {
				g.Kills = value
			}
		})
	})
	f.current("memory.failcnt", gauge(&g.LimitHits))
	f.current("memory.stat", func(text []byte) {
		parse.Pairs(text, func(name []byte, value float64) {
			switch string(name) {
			case "workingset_refault_anon", "workingset_refault_file":
				g.Refaults += value
			case "swap":
				g.Swap = value
			}
		})
	})
	for _, limit := range []struct{ file, kind string }{{"read_bps", "rbps"}, {"write_bps", "wbps"}, {"read_iops", "riops"}, {"write_iops", "wiops"}} {
		file := "blkio.throttle." + limit.file + "_device"
		f.setting(file, func(text []byte) { // "8:16 1048576"
			for line := range bytes.Lines(text) {
				device, value, _ := bytes.Cut(bytes.TrimSpace(line), []byte(" "))
				if v, ok := parse.Number(value); ok {
					g.IOLimits = append(g.IOLimits, IOLimit{string(device), limit.kind, v, folder + "/" + file})
				}
			}
		})
	}
	f.current("blkio.throttle.io_service_bytes", func(text []byte) { parseThrottle(text, g, true) })
	f.current("blkio.throttle.io_serviced", func(text []byte) { parseThrottle(text, g, false) })
}

// parseThrottle parses what a group of version 1 read and wrote: "8:16 Read 4096".
func parseThrottle(text []byte, g *Group, inBytes bool) {
	for line := range bytes.Lines(text) {
		f := bytes.Fields(line)
		if len(f) != 3 {
			continue
		}
		v, ok := parse.Number(f[2])
		if !ok {
			continue
		}
		of := g.io(string(f[0]))
		switch kind := string(f[1]); {
		case kind == "Read" && inBytes:
			of.ReadBytes = v
		case kind == "Write" && inBytes:
			of.WriteBytes = v
		case kind == "Read":
			of.Reads = v
		case kind == "Write":
			of.Writes = v
		}
	}
}
