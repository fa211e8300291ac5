package imported

import (
	"maps"
	"strconv"
	"strings"

	"plimsoll/internal/measure/hcibench"
)

// fioLevels maps fio's options to settings of the storage workload, if all jobs agree on them
// and the workload has them.
func fioLevels(global map[string]string, jobs []fioJob) map[string]string {
	var levels map[string]string
	for _, j := range jobs {
		options := maps.Clone(global)
		if options == nil {
			options = map[string]string{}
		}
		maps.Copy(options, j.Options)
		own := jobLevels(options)
		if levels == nil {
			levels = own
			continue
		}
		for name, level := range levels {
			if own[name] != level {
				delete(levels, name)
			}
		}
	}
	return levels
}

func jobLevels(options map[string]string) map[string]string {
	levels := map[string]string{}
	put := func(name, level string) {
		if level != "" {
			levels["storage."+name] = level
		}
	}
	first := func(names ...string) string {
		for _, name := range names {
			if v := options[name]; v != "" {
				return v
			}
		}
		return ""
	}
	if options["bssplit"] == "" {
		put("block", size(first("bs", "blocksize")))
	}
	put("depth", count(options["iodepth"]))
	put("threads", count(options["numjobs"]))
	put("engine", options["ioengine"])
	put("direct", map[string]string{"1": "true", "0": "false"}[options["direct"]])
	mode := first("rw", "readwrite")
	pattern := strings.TrimPrefix(mode, "rand")
	read, known := map[string]string{"read": "100%", "write": "0%", "rw": "50%", "readwrite": "50%"}[pattern]
	if !known {
		return levels
	}
	if read == "50%" {
		if n, err := strconv.Atoi(options["rwmixwrite"]); err == nil {
			read = percent(strconv.Itoa(100 - n))
		}
		if n := options["rwmixread"]; n != "" {
			read = percent(n)
		}
	}
	put("read", read)
	random := "0%"
	if pattern != mode {
		random = "100%"
		if n := options["percentage_random"]; n != "" {
			random = percent(n)
		}
	}
	put("random", random)
	return levels
}

// caseLevels are the levels in the name of an HCIBench case; none if the user chose the name. HCIBench's threads are the outstanding operations of a disk.
func caseLevels(l *hcibench.Load) map[string]string {
	levels := map[string]string{}
	if l == nil {
		return levels
	}
	put := func(name, level string) {
		if level != "" {
			levels[name] = level
		}
	}
	put("storage.disks", count(strconv.Itoa(l.Disks)))
	put("storage.working_set", percent(strconv.Itoa(l.WorkingSet)))
	put("storage.block", size(l.Block))
	put("storage.read", percent(strconv.Itoa(l.Read)))
	put("storage.random", percent(strconv.Itoa(l.Random)))
	put("storage.depth", count(strconv.Itoa(l.Threads)))
	if l.Compress > 0 {
		put("storage.compress", percent(strconv.Itoa(l.Compress)))
	}
	if l.Dedupe > 0 {
		put("storage.dedup", percent(strconv.Itoa(l.Dedupe)))
	}
	if l.Target > 0 {
		put("hcibench.latency_target", l.Target.String())
	}
	if l.Tool != hcibench.Fio {
		put("hcibench.tool", l.Tool)
	}
	put("hcibench.prefix", l.Prefix)
	put("hcibench.jobs", count(strconv.Itoa(l.Jobs)))
	return levels
}

// size converts a size of fio, such as 4k, to a study's; "" if it is not a single size.
func size(text string) string {
	text = strings.ToLower(text)
	shift := 0
	for i, unit := range []string{"k", "m", "g"} {
		if number, found := strings.CutSuffix(text, unit); found {
			text, shift = number, 10*(i+1)
		}
	}
	n, err := strconv.ParseUint(text, 10, 30)
	if err != nil || n == 0 {
		return ""
	}
	n <<= shift
	for i := 4; i > 0; i-- {
		if unit := uint64(1) << (10 * i); n%unit == 0 {
			return strconv.FormatUint(n/unit, 10) + []string{"", "KiB", "MiB", "GiB", "TiB"}[i]
		}
	}
	return strconv.FormatUint(n, 10) + "B"
}

func percent(text string) string {
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 || n > 100 {
		return ""
	}
	return strconv.Itoa(n) + "%"
}

func count(text string) string {
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		return ""
	}
	return strconv.Itoa(n)
}
