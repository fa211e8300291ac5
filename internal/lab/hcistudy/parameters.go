package hcistudy

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"plimsoll/internal/parameter"
)

// Parameters are those of a parameter file as settings of the workload storage.
type Parameters struct {
	Name           string
	Disks          int
	Settings       [][2]string // name and value, in the order of a study
	Warmup, Window time.Duration
	Target         time.Duration // latency target; 0 for none
	Rate           float64       // offered operations per second of a VM; 0 for none
	Without        []string      // what has no equivalent
}

func (p *Parameters) set(name, value string) { p.Settings = append(p.Settings, [2]string{name, value}) }

// ReadParameters reads a parameter file: a job file of fio, or one of vdbench.
func ReadParameters(name string, data []byte) (*Parameters, error) {
	p := &Parameters{Name: filepath.Base(name)}
	var err error
	if text := string(data); strings.Contains(text, "wd=") && strings.Contains(text, "rd=") {
		err = p.vdbench(text)
	} else {
		err = p.fio(text)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return p, nil
}

// fio reads a job file whose jobs do the same on disks of their own.
func (p *Parameters) fio(text string) error {
	global, jobs, err := sections(text)
	if err != nil {
		return err
	}
	if len(jobs) == 0 {
		return fmt.Errorf("there is no job in it: is it a parameter file of fio or vdbench?")
	}
	for i, j := range jobs {
		p.Disks += max(1, len(strings.Split(strings.ReplaceAll(j["filename"], `\:`, ""), ":")))
		for name := range j {
			if name != "filename" && j[name] != jobs[0][name] || len(j) != len(jobs[0]) {
				return fmt.Errorf("job %d differs from the first in %s: take a file per load", i+1, name)
			}
		}
	}
	all := global
	for name, value := range jobs[0] {
		all[name] = value
	}
	if depth := int(number(all["iodepth"])); depth > 0 && len(jobs) < p.Disks {
		each := max(1, depth*len(jobs)/p.Disks)
		all["iodepth"] = strconv.Itoa(each)
		p.Without = append(p.Without, fmt.Sprintf("%d jobs with an iodepth of %d for %d disks, which have %d each here", len(jobs), depth, p.Disks, each))
	}
	return p.options(all, len(jobs))
}

// rateOf is the rate of a job: one for reads and one for writes, or one for either.
func rateOf(text, read string) (sum float64) {
	reads, writes, apart := strings.Cut(text, ",")
	if !apart {
		writes = reads
	}
	if read != "0%" {
		sum += number(reads)
	}
	if read != "100%" {
		sum += number(writes)
	}
	return sum
}

// sections reads the global options and those of each job.
func sections(text string) (global map[string]string, jobs []map[string]string, err error) {
	global = map[string]string{}
	var at map[string]string
	for n, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		switch {
		case line == "" || line[0] == ';' || line[0] == '#':
		case line == "[global]":
			at = global
		case line[0] == '[' && strings.HasSuffix(line, "]"):
			at = map[string]string{}
			jobs = append(jobs, at)
		case at == nil:
			return nil, nil, fmt.Errorf("line %d: neither a section such as [global] nor below one", n+1)
		default:
			name, value, _ := strings.Cut(line, "=")
			at[alias(strings.TrimSpace(name))] = strings.TrimSpace(value)
		}
	}
	return global, jobs, nil
}

// alias is the short name of an option.
func alias(name string) string {
	if short, has := map[string]string{"readwrite": "rw", "blocksize": "bs"}[name]; has {
		return short
	}
	return name
}

// implied are options that a study has in other words, or that change nothing that is measured.
var implied = []string{
	"filename", "time_based", "group_reporting", "lat_percentiles", "norandommap", "random_generator", "latency_window", "latency_percentile", "latency_run", "buffered", "disk_util", "clat_percentiles", "slat_percentiles",
	"log_avg_msec", "rate_process", "rwmixwrite", "description",
}

// options takes the options of so many jobs.
func (p *Parameters) options(o map[string]string, jobs int) error {
	read, random, err := mode(o)
	if err != nil {
		return err
	}
	block, err := blocks(o)
	if err != nil {
		return err
	}
	p.set("block", block)
	p.set("read", read)
	p.set("random", random)
	target := number(o["latency_target"])
	for option, name := range map[string]string{"iodepth": "depth", "numjobs": "threads", "buffer_compress_percentage": "compress", "dedupe_percentage": "dedup", "size": "working_set", "ioengine": "engine", "direct": "direct"} {
		value := o[option]
		if value == "" {
			continue
		}
		switch name {
		case "compress", "dedup":
			value += "%"
		case "direct":
			value = strconv.FormatBool(value == "1")
		case "working_set":
			if !strings.HasSuffix(value, "%") {
				continue // the size of a disk is that of the configuration
			}
		case "depth":
			if target > 0 { // fio varies it up to this
				value = "32"
			}
		}
		p.set(name, value)
	}
	p.Window, p.Warmup = seconds(o["runtime"]), seconds(o["ramp_time"])
	p.Target = time.Duration(target) * time.Microsecond
	p.Rate = float64(jobs) * rateOf(o["rate_iops"], read)
	known := append([]string{"rw", "bs", "bssplit", "rwmixread", "percentage_random", "runtime", "ramp_time", "rate_iops", "latency_target"}, implied...)
	for name, value := range o {
		taken := slices.ContainsFunc(p.Settings, func(s [2]string) bool { return optionOf[s[0]] == name })
		if !taken && !slices.Contains(known, name) && !(name == "fsync" && value == "0") {
			p.Without = append(p.Without, strings.TrimSuffix(name+"="+value, "="))
		}
	}
	slices.Sort(p.Without)
	slices.SortFunc(p.Settings, func(a, b [2]string) int { return slices.Index(order, a[0]) - slices.Index(order, b[0]) })
	return nil
}

var (
	order    = []string{"block", "read", "random", "threads", "depth", "engine", "direct", "working_set", "compress", "dedup"}
	optionOf = map[string]string{"depth": "iodepth", "threads": "numjobs", "compress": "buffer_compress_percentage", "dedup": "dedupe_percentage", "working_set": "size", "engine": "ioengine", "direct": "direct"}
)

// mode is what is read and written, as shares.
func mode(o map[string]string) (read, random string, err error) {
	pattern, isRandom := strings.CutPrefix(o["rw"], "rand")
	random = "0%"
	if isRandom {
		random = "100%"
		if share := o["percentage_random"]; share != "" {
			random = share + "%"
		}
	}
	switch pattern {
	case "read":
		return "100%", random, nil
	case "write":
		return "0%", random, nil
	case "rw", "readwrite":
		read = "50%"
		if n := o["rwmixread"]; n != "" {
			read = n + "%"
		} else if n := o["rwmixwrite"]; n != "" {
			read = strconv.FormatFloat(100-number(n), 'f', -1, 64) + "%"
		}
		return read, random, nil
	}
	return "", "", fmt.Errorf("rw=%s has no equivalent: a storage load reads and writes", o["rw"])
}

// blocks are the block sizes.
func blocks(o map[string]string) (string, error) {
	text := o["bs"]
	if text == "" {
		text = "4k"
	}
	if split := o["bssplit"]; split != "" {
		text = split
	}
	mixes := strings.Split(text, ",")
	for i, mix := range mixes {
		var parts []string
		for _, part := range strings.Split(mix, ":") {
			size, share, shared := strings.Cut(part, "/")
			n, err := sizeOf(size)
			if err != nil {
				return "", err
			}
			if size = n.String(); shared {
				size += "/" + share
			}
			parts = append(parts, size)
		}
		mixes[i] = strings.Join(parts, ":")
	}
	return strings.Join(mixes, ","), nil
}

// sizeOf reads a size such as 4k.
func sizeOf(text string) (parameter.Bytes, error) {
	digits := strings.TrimRight(strings.ToLower(text), "kmgib")
	shift := map[string]int{"": 0, "k": 10, "m": 20, "g": 30}
	unit := strings.TrimSuffix(strings.TrimSuffix(strings.ToLower(text)[len(digits):], "b"), "i")
	n, err := strconv.ParseUint(digits, 10, 30)
	by, known := shift[unit]
	if err != nil || !known {
		return 0, fmt.Errorf("%q is not a size such as 4k", text)
	}
	return parameter.Bytes(n << by), nil
}

func number(text string) float64 {
	n, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if err != nil || math.IsNaN(n) || n < 0 || n > 1e9 {
		return 0
	}
	return n
}

// seconds is a time of fio, in seconds without a unit.
func seconds(text string) time.Duration {
	if d, err := time.ParseDuration(text); err == nil && d > 0 {
		return d
	}
	return time.Duration(number(text) * float64(time.Second))
}
