package keyvalue

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"plimsoll/internal/measure"
	"plimsoll/internal/measure/foreign"
)

// Memtier is the JSON output of memtier_benchmark.
func Memtier() foreign.Format {
	return foreign.Format{
		Name: "memtier", Doc: "`memtier_benchmark --json-out-file`, also with `--print-all-runs`", Rate: "operations",
		Metrics: append(measure.OperationMetrics("operations"),
			measure.Metric{Name: "hits", Unit: "1/s", Doc: "keys found per second", Better: measure.Neutral},
			measure.Metric{Name: "misses", Unit: "1/s", Doc: "keys not found per second", Better: measure.Neutral}),
		Absent: "Histograms and quantiles before version 1.4. Errors. Of several runs (`-x`) without `--print-all-runs` the output has best, worst and mean, which are no trials: it is refused. " +
			"Without `--rate-limiting` it is a closed loop: stalls of the server are under-represented (coordinated omission).",
		Sniff: func(head []byte) bool {
			return bytes.Contains(head, []byte(`"configuration"`)) && bytes.Contains(head, []byte(`"run_count"`)) || bytes.Contains(head, []byte(`"ALL STATS"`))
		},
		Parse: parseMemtier,
	}
}

// memtierStats are the statistics of a kind of operations. Not every version has all.
type memtierStats struct {
	Count   float64 `json:"Count"`
	Rate    float64 `json:"Ops/sec"`
	Hits    float64 `json:"Hits/sec"`
	Misses  float64 `json:"Misses/sec"`
	Latency float64 `json:"Latency"`         // ms
	Mean    float64 `json:"Average Latency"` // ms
	Max     float64 `json:"Max Latency"`     // ms
	KB      float64 `json:"KB/sec"`

	Percentiles map[string]json.RawMessage `json:"Percentile Latencies"`
}

type memtierRuntime struct {
	Start    float64 `json:"Start time"`     // ms since 1970
	Duration float64 `json:"Total duration"` // ms
}

func parseMemtier(t *foreign.Text) ([]foreign.Run, error) {
	documents, err := foreign.Documents[map[string]json.RawMessage](t)
	if err != nil {
		return nil, err
	}
	var all []foreign.Run
	for _, d := range documents {
		levels, tool := memtierLevels(d)
		names := slices.DeleteFunc(slices.Sorted(maps.Keys(d)), func(name string) bool { return name != "ALL STATS" && !strings.HasPrefix(name, "RUN #") })
		if len(names) == 0 {
			if slices.ContainsFunc(slices.Collect(maps.Keys(d)), func(name string) bool { return strings.Contains(name, "AVERAGE") }) {
				return nil, errors.New("it has the best, the worst and the mean of several runs, but not each: run memtier_benchmark with --print-all-runs")
			}
			return nil, errors.New(`it has no "ALL STATS": the run failed or the file is truncated`)
		}
		for _, name := range names {
			r, err := memtierRun(tool, d[name])
			if err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			r.Levels = levels
			all = append(all, r)
		}
	}
	return all, nil
}

// memtierLevels are the settings that decide a load, and the version if it is printed.
func memtierLevels(d map[string]json.RawMessage) (levels map[string]string, tool string) {
	levels, tool = map[string]string{}, "memtier_benchmark"
	var configuration map[string]any
	if json.Unmarshal(d["configuration"], &configuration) != nil {
		return levels, tool
	}
	for _, name := range []string{"protocol", "clients", "threads", "ratio", "pipeline", "data_size", "key_pattern", "rate-limiting"} {
		switch v := configuration[name].(type) {
		case string:
			levels["memtier."+name] = v
		case float64:
			levels["memtier."+name] = strconv.FormatFloat(v, 'f', -1, 64)
		}
	}
	if v, ok := configuration["version"].(string); ok {
		tool += " " + v
	}
	return levels, tool
}

func memtierRun(tool string, text json.RawMessage) (foreign.Run, error) {
	r := foreign.NewRun(tool)
	var sections map[string]json.RawMessage
	if err := json.Unmarshal(text, &sections); err != nil {
		return r, err
	}
	var of memtierRuntime
	if data, ok := sections["Runtime"]; ok {
		if err := json.Unmarshal(data, &of); err != nil {
			return r, fmt.Errorf("section Runtime: %w", err)
		}
	}
	r.Length, r.Start = foreign.Duration(of.Duration/1e3), milliseconds(of.Start)
	for _, section := range slices.Sorted(maps.Keys(sections)) {
		if section == "Runtime" || section == "Waits" {
			continue
		}
		var s memtierStats
		if err := json.Unmarshal(sections[section], &s); err != nil {
			continue // such as the distributions of older versions
		}
		if s.Count == 0 && s.Rate == 0 {
			continue
		}
		prefix := ""
		if section != "Totals" {
			prefix = r.Class(strings.TrimSuffix(section, "s"))
		}
		if err := s.into(&r, prefix); err != nil {
			return r, fmt.Errorf("%s: %w", section, err)
		}
	}
	r.Warn(coordinated)
	return r, nil
}

func (s *memtierStats) into(r *foreign.Run, prefix string) error {
	r.Counts[prefix+"operations"] = foreign.Events(s.Count)
	r.Values[prefix+"operations"], r.Values[prefix+"throughput"] = s.Rate, s.KB*1024
	if prefix == "" {
		r.Values["hits"], r.Values["misses"] = s.Hits, s.Misses
	}
	if s.Mean == 0 {
		s.Mean = s.Latency
	}
	if s.Mean > 0 {
		r.Values[prefix+"mean"] = s.Mean / 1e3
	}
	if s.Max > 0 {
		r.Values[prefix+"max"] = s.Max / 1e3
	}
	var log struct {
		Histogram string `json:"Compressed Histogram"`
	}
	if text, ok := s.Percentiles["Histogram log format"]; ok && json.Unmarshal(text, &log) == nil && log.Histogram != "" {
		h, err := foreign.Histogram(log.Histogram, time.Microsecond)
		if err != nil {
			return err
		}
		r.Distribution(prefix, h)
	}
	for name, text := range s.Percentiles { // as printed, rather than by the buckets of a histogram
		var ms float64
		number, ok := strings.CutPrefix(name, "p")
		if !ok || json.Unmarshal(text, &ms) != nil {
			continue
		}
		q, err := strconv.ParseFloat(number, 64)
		if err == nil {
			r.Quantile(prefix+"p"+strconv.FormatFloat(q, 'f', -1, 64), ms/1e3, r.Counts[prefix+"operations"])
		}
	}
	return nil
}

// milliseconds is a time in ms since 1970; 0 is none.
func milliseconds(ms float64) time.Time {
	if !(ms > 0 && ms < 1e14) {
		return time.Time{}
	}
	return time.UnixMilli(int64(ms)).UTC()
}
