package scene

import (
	"encoding/json"
	"errors"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Sample is what a workload reached in about a second.
type Sample struct {
	Rate    float64 `json:"rate"`    // operations or bytes per second
	Latency float64 `json:"latency"` // mean, in seconds
	P99     float64 `json:"p99"`     // in seconds
	Errors  float64 `json:"errors"`  // per second
}

// Reader takes a sample from a line of a program's output, where the line has one.
type Reader func(line string) (Sample, bool)

// Meter collects samples with the time of their arrival.
type Meter struct {
	sync.Mutex
	at  []time.Time
	all []Sample
}

func (m *Meter) add(s Sample) {
	m.Lock()
	defer m.Unlock()
	m.at, m.all = append(m.at, time.Now()), append(m.all, s)
}

// Count is the number of samples so far.
func (m *Meter) Count() int {
	m.Lock()
	defer m.Unlock()
	return len(m.all)
}

// Mean is the mean of the samples that arrived after an instant. Latencies are weighted with the
// operations; the p99 is the mean of those of the seconds.
func (m *Meter) Mean(after time.Time) (mean Sample, err error) {
	m.Lock()
	defer m.Unlock()
	var n, operations float64
	for i, s := range m.all {
		if m.at[i].After(after) {
			n++
			operations += s.Rate
			mean.Rate += s.Rate
			mean.Errors += s.Errors
			mean.P99 += s.P99
			mean.Latency += s.Latency * s.Rate
		}
	}
	if n == 0 {
		return mean, errors.New("the workload printed no figures")
	}
	mean.Rate, mean.Errors, mean.P99 = mean.Rate/n, mean.Errors/n, mean.P99/n
	if operations > 0 {
		mean.Latency /= operations
	}
	return mean, nil
}

// Ours reads what the programs of package program print.
func Ours(line string) (Sample, bool) {
	var s Sample
	if !strings.HasPrefix(line, "{") || json.Unmarshal([]byte(line), &s) != nil {
		return Sample{}, false
	}
	return s, true
}

var (
	ofPgbench = regexp.MustCompile(`^progress: [0-9.]+ s, ([0-9.]+) tps, lat ([0-9.]+) ms stddev ([0-9.]+)`)
	ofFio     = regexp.MustCompile(`^3;fio-[^;]*;[^;]*;\d+;\d+;`)
)

// Pgbench reads the progress of pgbench -P 1.
func Pgbench(line string) (Sample, bool) { return milliseconds(ofPgbench.FindStringSubmatch(line)) }

func milliseconds(found []string) (s Sample, ok bool) {
	if found == nil {
		return s, false
	}
	s.Rate, _ = strconv.ParseFloat(found[1], 64)
	s.Latency, _ = strconv.ParseFloat(found[2], 64)
	s.Latency /= 1000
	s.P99 = s.Latency
	return s, true
}

// Fio reads the totals that fio --minimal --status-interval=1 prints, and has their growth as rate
// in KiB per second.
func Fio() Reader {
	var before, at float64
	return func(line string) (s Sample, ok bool) {
		if !ofFio.MatchString(line) {
			return s, false
		}
		done, elapsed := terse(line)
		if elapsed <= at {
			return s, false
		}
		if ok = at > 0; ok {
			s.Rate = (done - before) / (elapsed - at)
		}
		before, at = done, elapsed
		return s, ok
	}
}

// terse has the KiB that jobs have read and written, and the seconds that they have run, from a
// line of fio's terse output of version 3.
func terse(line string) (done, elapsed float64) {
	const readKiB, readMs, writeKiB, writeMs = 5, 8, 46, 49
	var milli float64
	for i, field := range strings.Split(line, ";") {
		value, _ := strconv.ParseFloat(field, 64)
		switch i {
		case readKiB, writeKiB:
			done += value
		case readMs, writeMs:
			milli = max(milli, value)
		}
	}
	return done, milli / 1000
}
