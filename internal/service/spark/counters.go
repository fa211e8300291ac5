package spark

import (
	"context"
	_ "embed"
	"fmt"
	"strconv"
	"strings"

	"plimsoll/internal/measure"
	"plimsoll/internal/platform"
	engine "plimsoll/internal/spark"
)

//go:embed count.sh
var counter string

// counted is the folder of the executors' counters, below that of the instance.
const counted = "counters"

// metrics are what the master tells and, of a cluster that plimsoll started, its processes and executors.
func metrics() []measure.Metric {
	lower := measure.LowerIsBetter
	return []measure.Metric{
		{Name: "spark.workers", Unit: "1", Doc: "workers that serve"},
		{Name: "spark.cores_used", Unit: "1", Doc: "cores allocated to applications"},
		{Name: "spark.memory_used", Unit: "B", Doc: "memory of workers allocated to executors"},
		{Name: "spark.applications", Unit: "1", Doc: "applications running"},
		{Name: "spark.executors", Unit: "1", Doc: "processes of executors"},
		{Name: "spark.cpu", Unit: "1", Doc: "CPUs used by master, workers and executors", Better: lower},
		{Name: "spark.executor.cpu", Unit: "1", Doc: "CPUs used by executors", Better: lower},
		{Name: "spark.gc", Unit: "s/s", Doc: "time of garbage collection in executors, in seconds per second", Better: lower},
		{Name: "spark.shuffle_written", Unit: "B/s", Doc: "bytes written by shuffles", Better: lower},
		{Name: "spark.shuffle_read", Unit: "B/s", Doc: "bytes read by shuffles", Better: lower},
		{Name: "spark.spilled", Unit: "B/s", Doc: "bytes spilled to disk", Better: lower},
		{Name: "spark.spilled_memory", Unit: "B/s", Doc: "size in memory of what was spilled", Better: lower},
	}
}

// count asks the master and reads the processes.
func (c cluster) count(ctx context.Context) (map[string]float64, error) {
	s, err := c.ask(ctx)
	if err != nil {
		return nil, err
	}
	counts := told(s)
	if c.dir == "" {
		return counts, nil
	}
	r, err := c.machine.Run(ctx, platform.Command{Argv: []string{"sh", "-c", counter, "sh", c.dir}})
	if err != nil {
		return nil, fmt.Errorf("read the counters of Spark's processes: %w", err)
	}
	add(counts, string(r.Stdout))
	return counts, nil
}

// told are the counters from the status.
func told(s engine.Status) map[string]float64 {
	counts := map[string]float64{"spark.workers": 0, "spark.cores_used": 0, "spark.memory_used": 0, "spark.applications": float64(len(s.Active))}
	for _, w := range s.Alive() {
		counts["spark.workers"]++
		counts["spark.cores_used"] += float64(w.CoresUsed)
		counts["spark.memory_used"] += float64(w.MemoryUsed << 20)
	}
	return counts
}

// counters of executors, by the name of Spark's source (org.apache.spark.executor.ExecutorSource), with their scale.
var counters = map[string]struct {
	name  string
	scale float64
}{
	"jvmGCTime":             {"spark.gc", 1e-3}, // in ms
	"shuffleBytesWritten":   {"spark.shuffle_written", 1},
	"shuffleTotalBytesRead": {"spark.shuffle_read", 1},
	"diskBytesSpilled":      {"spark.spilled", 1},
	"memoryBytesSpilled":    {"spark.spilled_memory", 1},
}

// add adds what count.sh printed.
func add(counts map[string]float64, said string) {
	for _, name := range []string{"spark.executors", "spark.cpu", "spark.executor.cpu"} {
		counts[name] = 0
	}
	for _, c := range counters {
		counts[c.name] = 0
	}
	for line := range strings.Lines(said) {
		kind, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		name, value, _ := strings.Cut(rest, " ")
		switch kind {
		case "process":
			process(counts, name, value)
		case "counter":
			c, known := counters[name]
			_, value, _ = strings.Cut(value, ",") // after its time
			if v, err := strconv.ParseFloat(value, 64); known && err == nil && v > 0 {
				counts[c.name] += v * c.scale
			}
		}
	}
}

const ticks = 100 // clock ticks a second in /proc/PID/stat, USER_HZ

// process adds the CPU time of a process from /proc/PID/stat. Executors that have ended are children of their worker.
func process(counts map[string]float64, kind, stat string) {
	fields := strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:])
	const first = 14 - 3 // the first after the name is the third
	if len(fields) < first+4 {
		return
	}
	var cpu [4]float64 // user and system, of itself and of its children that have ended
	for i := range cpu {
		v, err := strconv.ParseFloat(fields[first+i], 64)
		if err != nil || v < 0 {
			return
		}
		cpu[i] = v / ticks
	}
	counts["spark.cpu"] += cpu[0] + cpu[1]
	switch kind {
	case "executor":
		counts["spark.executors"]++
		counts["spark.executor.cpu"] += cpu[0] + cpu[1]
	case "worker":
		counts["spark.cpu"] += cpu[2] + cpu[3]
		counts["spark.executor.cpu"] += cpu[2] + cpu[3]
	}
}
