package cgroup

import (
	"bytes"
	"slices"

	"plimsoll/internal/hoststat/parse"
	"plimsoll/internal/hoststat/psi"
)

// read2 reads the files of version 2.
func (f files) read2(folder string, g *Group) {
	f.setting("cpu.max", func(text []byte) { // "200000 100000" or "max 100000"
		if n := parse.Numbers(nil, text); len(n) == 2 && n[1] > 0 {
			g.Quota = n[0] / n[1]
		}
	})
	f.setting("cpu.weight", gauge(&g.Weight))
	idle := 0.
	if f.setting("cpu.idle", gauge(&idle)); idle > 0 {
		g.Weight = Idle
	}
	f.setting("cpuset.cpus.effective", func(text []byte) { g.CPUSet = string(text) })
	f.current("memory.current", gauge(&g.Memory))
	for _, file := range []string{"memory.max", "memory.high"} {
		limit := 0.
		if f.setting(file, gauge(&limit)); limit > 0 && (g.MemoryLimit == 0 || limit < g.MemoryLimit) {
			g.MemoryLimit, g.MemoryFile = limit, folder+"/"+file
		}
		if file == "memory.max" {
			g.MemoryMax, g.MaxFile = g.MemoryLimit, g.MemoryFile
		}
	}
	f.current("memory.swap.current", gauge(&g.Swap))
	f.current("memory.events", func(text []byte) {
		parse.Pairs(text, func(name []byte, value float64) {
			switch string(name) {
			case "high", "max":
				g.LimitHits += value
			case "oom":
				g.OutOfMemory = value
			case "oom_kill":
				g.Kills = value
			}
		})
	})
	f.current("memory.stat", func(text []byte) {
		parse.Pairs(text, func(name []byte, value float64) {
			if bytes.HasPrefix(name, []byte("workingset_refault")) {
				g.Refaults += value
			}
		})
	})
	f.current("memory.pressure", func(text []byte) { g.MemoryPressure = psi.Parse(text) })
	f.current("io.pressure", func(text []byte) { g.IOPressure = psi.Parse(text) })
	f.setting("io.max", func(text []byte) { parseIOMax(text, folder+"/io.max", g) })
	f.current("io.stat", func(text []byte) { parseIOStat(text, g) })
}

// gauge reads one number; "max" is 0.
func gauge(into *float64) func([]byte) { return func(text []byte) { *into, _ = parse.Number(text) } }

// parseIOMax parses io.max: "8:16 rbps=2097152 wbps=max riops=max wiops=120".
func parseIOMax(text []byte, file string, g *Group) {
	keyed(text, func(device string, key, value []byte) {
		if v, ok := parse.Number(value); ok {
			g.IOLimits = append(g.IOLimits, IOLimit{device, string(key), v, file})
		}
	})
}

// parseIOStat parses io.stat: "8:16 rbytes=1459200 wbytes=314773504 rios=192 wios=353 ...".
func parseIOStat(text []byte, g *Group) {
	keyed(text, func(device string, key, value []byte) {
		v, _ := parse.Number(value)
		switch of := g.io(device); string(key) {
		case "rbytes":
			of.ReadBytes = v
		case "wbytes":
			of.WriteBytes = v
		case "rios":
			of.Reads = v
		case "wios":
			of.Writes = v
		}
	})
}

// keyed calls use for each KEY=VALUE of lines that begin with a device.
func keyed(text []byte, use func(device string, key, value []byte)) {
	for line := range bytes.Lines(text) {
		device, rest, _ := bytes.Cut(bytes.TrimSpace(line), []byte(" "))
		for field := range bytes.FieldsSeq(rest) {
			if key, value, found := bytes.Cut(field, []byte("=")); found {
				use(string(device), key, value)
			}
		}
	}
}

// io is the entry of a device.
func (g *Group) io(device string) *IO {
	if i := slices.IndexFunc(g.IO, func(x IO) bool { return x.Device == device }); i >= 0 {
		return &g.IO[i]
	}
	g.IO = append(g.IO, IO{Device: device})
	return &g.IO[len(g.IO)-1]
}
