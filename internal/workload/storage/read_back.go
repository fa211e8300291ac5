package storage

import (
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"plimsoll/internal/workload/storage/fio"
)

// seen reads back what fio says it used, as the levels of the study's factors. What
// it does not say, or says otherwise than asked in a way that no level can tell, is
// absent.
func (p *pattern) seen(doc *fio.Document) map[string]string {
	said := maps.Clone(doc.Global)
	if said == nil {
		said = map[string]string{}
	}
	if len(doc.Jobs) == 1 {
		maps.Copy(said, doc.Jobs[0].Options)
	}
	asked, own := p.jobSeen(said)
	same := func(names ...string) bool {
		some := false
		for _, name := range names {
			if said[name] != asked[name] {
				return false
			}
			some = some || said[name] != ""
		}
		return some
	}
	levels := map[string]string{}
	if p.Rate == 0 {
		for level, option := range map[string]string{"threads": "numjobs", "depth": "iodepth"} {
			if v := said[option]; v != "" {
				levels[level] = v
			}
		}
	} else if own && said["iodepth"] == "1" {
		levels["threads"], levels["depth"] = strconv.Itoa(p.Threads), strconv.Itoa(p.Depth)
	}
	if v := said["direct"]; v != "" {
		levels["direct"] = strconv.FormatBool(v == "1")
	}
	for _, one := range []struct {
		level, value string
		is           bool
	}{
		{"engine", p.Engine, same("ioengine")},
		{"rate", p.Rate.String(), p.Rate > 0 && own},
		{"compress", p.Compress.String(), p.Compress > 0 && same("buffer_compress_percentage")},
		{"dedup", p.Dedup.String(), p.Dedup > 0 && same("dedupe_percentage")},
		{"verify", p.Verify, p.Verify != "none" && same("verify")},
		{"block", p.Block, p.Spec == "" && same("bs", "bssplit")},
		{"read", p.Read.String(), p.Spec == "" && same("rw", "rwmixread")},
		{"random", p.Random.String(), p.Spec == "" && same("rw", "percentage_random")},
		{"spec", p.Spec, p.Spec != "" && same("bs") && same("rw", "rwmixread", "percentage_random")},
		{"disks", strconv.Itoa(p.Disks), len(p.Targets) == 0 && workersSeen(doc) == p.workers()},
	} {
		if one.is {
			levels[one.level] = one.value
		}
	}
	if len(p.Targets) == 0 && same("size") && said["offset_increment"] == asked["offset_increment"] {
		levels["size"], levels["working_set"] = p.Size.String(), p.WorkingSet.String()
	}
	return levels
}

// jobSeen are the options of the job that fio shows, which is one of all; own is false if it is none of them.
func (p *pattern) jobSeen(said map[string]string) (asked map[string]string, own bool) {
	for i := range p.Disks {
		for _, j := range p.jobsOfDisk(i, p.Size) {
			asked = options(slices.Concat(p.access(), j.options))
			if !slices.ContainsFunc([]string{"numjobs", "rw", "rate_process", "rate_iops", "rate"}, func(name string) bool { return said[name] != asked[name] }) {
				return asked, true
			}
		}
	}
	return asked, false
}

// options turns arguments into names and values.
func options(argv []string) map[string]string {
	m := map[string]string{}
	for _, a := range argv {
		name, value, _ := strings.Cut(strings.TrimPrefix(a, "--"), "=")
		m[name] = value
	}
	return m
}

// workersSeen is how many ran, by the time that they ran for together; 0 where the load
// was too short to tell.
func workersSeen(doc *fio.Document) int {
	const apart = 10 // ms, in which workers may start
	if len(doc.Jobs) != 1 {
		return 0
	}
	j := &doc.Jobs[0]
	each := max(j.Read.Runtime, j.Write.Runtime)
	if each == 0 || j.Runtime > each<<20 {
		return 0
	}
	n := math.Round(float64(j.Runtime) / float64(each))
	if float64(each) < apart*n {
		return 0
	}
	return int(n)
}
