package hcibench

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// SummarySuffix follows the name of a case in the name of its summary, which lies beside the folder of the case.
const SummarySuffix = "-res.txt"

// Summary is the summary of a case.
type Summary struct {
	Jobs  []Job
	Early int  // VMs that finished early and are left out
	None  bool // no VM has a result
}

// Job is one block of a summary, with its rates summed over datastores.
type Job struct {
	IOPS       float64            // 1/s
	Throughput float64            // B/s
	Means      map[string]float64 // by class, "" for all, in seconds: plain means over VMs; none of a class that did not run
	Datastores int
	VMs        int                // or pods
	Merged     map[string]float64 // metrics of the block that plimsoll adds, in base units
}

// What begins a block or ends the blocks.
const (
	mergedHead = "Merged"
	usageHead  = "Resource Usage:"
)

// ParseSummary reads a summary in any of its forms: of fio, whose blocks begin with JOB_NAME; of vdbench, with Run Def; of Kubernetes, with StorageClass and
// Pods in place of Datastore and VMs. The blocks of each datastore come in the same order.
func ParseSummary(data []byte) (*Summary, error) {
	p := summaryParser{at: -1}
	for n, line := range strings.Split(string(data), "\n") {
		if err := p.line(strings.TrimSpace(line)); err != nil {
			return nil, fmt.Errorf("line %d: %w", n+1, err)
		}
	}
	return &p.Summary, nil
}

type summaryParser struct {
	Summary
	at     int // of the block; -1 before the first of a datastore
	merged bool
}

func (p *summaryParser) line(line string) error {
	name, value, assigned := strings.Cut(line, "=")
	name, value = strings.TrimSpace(name), strings.TrimSpace(value)
	switch {
	case strings.HasPrefix(line, "Run Def:"), name == "JOB_NAME":
		p.block()
	case name == mergedHead:
		p.merged = p.at >= 0
	case name == "Datastore" || name == "StorageClass" || line == usageHead:
		p.at, p.merged = -1, false
	case !assigned:
		p.remark(line)
	case p.at >= 0 && p.merged:
		return p.Jobs[p.at].merge(name, value)
	case p.at >= 0:
		return p.Jobs[p.at].set(name, value)
	}
	return nil
}

// block begins the next block of a datastore.
func (p *summaryParser) block() {
	p.merged = false
	if p.at++; p.at == len(p.Jobs) {
		p.Jobs = append(p.Jobs, Job{Means: map[string]float64{}})
	}
	p.Jobs[p.at].Datastores++
}

// remark takes what a summary says of VMs without a result.
func (p *summaryParser) remark(line string) {
	var ended, all int
	if strings.HasPrefix(line, "All the ") && strings.Contains(line, "finished testing early") {
		p.None = true
	} else if n, _ := fmt.Sscanf(line, "There are %d VMs finished testing early", &ended); n == 1 {
		p.Early = max(p.Early, ended)
	} else if n, _ := fmt.Sscanf(line, "Testing is done, %d out of %d VMs", &ended, &all); n == 2 { // of vdbench
		p.Early = max(p.Early, all-ended)
	}
}

// latencies are the classes of the latencies of a summary.
var latencies = map[string]string{"LATENCY": "", "R_LATENCY": "read", "W_LATENCY": "write"}

func (j *Job) set(name, value string) error {
	class, latency := latencies[name]
	if !latency && name != "IOPS" && name != "THROUGHPUT" && name != "VMs" && name != "Pods" {
		return nil
	}
	v, err := amount(name, value)
	switch {
	case err != nil:
		return err
	case name == "IOPS":
		j.IOPS += v
	case name == "THROUGHPUT":
		j.Throughput += v * mib // labelled MB/s
	case !latency:
		j.VMs += int(min(v, math.MaxInt32))
	case v > 0:
		j.Means[class] = v * millisecond
	}
	return nil
}

// merge takes a metric of the merged block.
func (j *Job) merge(name, value string) error {
	if !mergedMetric(name) {
		return nil
	}
	v, err := amount(name, value)
	if err != nil {
		return err
	}
	if j.Merged == nil {
		j.Merged = map[string]float64{}
	}
	unit, _ := mergedUnit(name)
	j.Merged[name] = v * unit
	return nil
}

// amount is the number before a unit.
func amount(name, value string) (float64, error) {
	text, _, _ := strings.Cut(value, " ")
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || v < 0 || math.IsInf(v, 0) || math.IsNaN(v) {
		return 0, fmt.Errorf("%s is %q, not a number", name, value)
	}
	return v, nil
}

const (
	mib         = 1 << 20
	millisecond = 1e-3 // s
)

// mergedMetrics are the metrics of the merged block, of all operations and of each class.
var mergedMetrics = []string{"iops", "throughput", "mean", "max", "p50", "p90", "p95", "p99", "p99.9", "p99.99"}

// mergedMetric reports whether a name is that of a metric of the merged block.
func mergedMetric(name string) bool {
	for _, class := range []string{"", "read.", "write."} {
		for _, metric := range mergedMetrics {
			if name == class+metric {
				return true
			}
		}
	}
	return false
}

// mergedUnit is the unit of a metric in the merged block, in base units.
func mergedUnit(name string) (scale float64, unit string) {
	switch {
	case strings.HasSuffix(name, "iops"):
		return 1, "IO/S"
	case strings.HasSuffix(name, "throughput"):
		return mib, "MiB/s"
	}
	return millisecond, "ms"
}
