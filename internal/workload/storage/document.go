package storage

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"time"

	"plimsoll/internal/measure"
)

// document is what we read of a json+ document of fio. Its counts are
// cumulative since the start of the load; with group reporting the one job
// stands for all.
type document struct {
	Timestamp int64             `json:"timestamp_ms"`
	Global    map[string]string `json:"global options"`
	Jobs      []job             `json:"jobs"`
}

type job struct {
	Name    string            `json:"jobname"`
	Error   int               `json:"error"`
	Options map[string]string `json:"job options"`
	Read    direction         `json:"read"`
	Write   direction         `json:"write"`
	Runtime int64             `json:"job_runtime"` // ms, summed over the workers of a group
	User    float64           `json:"usr_cpu"`     // percent of Runtime
	System  float64           `json:"sys_cpu"`
}

type direction struct {
	Bytes   int64   `json:"io_bytes"`
	Runtime int64   `json:"runtime"` // ms
	Latency latency `json:"lat_ns"`
}

// latency is the time from submission to completion.
type latency struct {
	Count int64            `json:"N"`
	Mean  float64          `json:"mean"`
	Bins  map[string]int64 `json:"bins"` // by ns
}

// total is the sum of the response times, in ns.
func (l *latency) total() float64 { return float64(l.Count) * l.Mean }

// splitter cuts a stream of JSON objects, with lines of other text between
// them, into objects.
type splitter struct {
	pending         []byte
	depth           int
	inText, escaped bool
	each            func(object []byte) error
}

// mostDocument bounds what a document may take: a json+ document of two
// directions has some tens of kilobytes.
const mostDocument = 64 << 20

// Write takes in the next part of the stream.
func (s *splitter) Write(p []byte) (int, error) {
	for _, c := range p {
		if s.depth == 0 && c != '{' {
			continue
		}
		s.pending = append(s.pending, c)
		s.step(c)
		if s.depth > 0 {
			if len(s.pending) > mostDocument {
				return 0, fmt.Errorf("a document of fio is larger than %d MiB", mostDocument>>20)
			}
			continue
		}
		if err := s.each(s.pending); err != nil {
			return 0, err
		}
		s.pending = s.pending[:0]
	}
	return len(p), nil
}

func (s *splitter) step(c byte) {
	switch {
	case s.escaped:
		s.escaped = false
	case s.inText && c == '\\':
		s.escaped = true
	case c == '"':
		s.inText = !s.inText
	case s.inText:
	case c == '{':
		s.depth++
	case c == '}':
		s.depth--
	}
}

// series turns cumulative documents into intervals.
type series struct {
	last    document
	elapsed time.Duration
}

// next returns what happened since the last document; false when no time has
// passed, as between the last of the intervals and the document at the end.
func (s *series) next(text []byte) (measure.Interval, bool, error) {
	var d document
	if err := json.Unmarshal(text, &d); err != nil {
		return measure.Interval{}, false, fmt.Errorf("read the output of fio: %w", err)
	}
	if len(d.Jobs) != 1 {
		return measure.Interval{}, false, fmt.Errorf("read the output of fio: %d jobs where one group is expected", len(d.Jobs))
	}
	j := &d.Jobs[0]
	elapsed := time.Duration(max(j.Read.Runtime, j.Write.Runtime)) * time.Millisecond
	if elapsed <= s.elapsed {
		if elapsed == s.elapsed {
			s.last.Jobs = d.Jobs
		}
		return measure.Interval{}, false, nil
	}
	in := measure.Interval{From: s.elapsed, To: elapsed}
	var before job
	if len(s.last.Jobs) == 1 {
		before = s.last.Jobs[0]
	}
	for _, c := range []struct {
		class     string
		now, then *direction
	}{{"read", &j.Read, &before.Read}, {"write", &j.Write, &before.Write}} {
		if c.now.Latency.Count == 0 && c.now.Runtime == 0 {
			continue
		}
		sample, err := difference(c.class, c.now, c.then)
		if err != nil {
			return measure.Interval{}, false, err
		}
		in.Samples = append(in.Samples, sample)
	}
	s.last, s.elapsed = d, elapsed
	return in, true, nil
}

// difference is what happened between two cumulative counts. The documents of a
// load that runs are printed while its workers count, so that the fields of one
// disagree by the operations of an instant: the bins alone say how many there
// were, and the last document settles all.
func difference(class string, now, then *direction) (measure.Sample, error) {
	sample := measure.Sample{
		Class: class, Bytes: now.Bytes - then.Bytes,
		Total: time.Duration(max(0, now.Latency.total()-then.Latency.total())), Latency: measure.NewHistogram(),
	}
	if now.Latency.Count < then.Latency.Count || sample.Bytes < 0 {
		return sample, fmt.Errorf("read the output of fio: its count of %ss went down", class)
	}
	for bin, n := range now.Latency.Bins {
		n -= then.Latency.Bins[bin]
		ns, err := strconv.ParseInt(bin, 10, 64)
		if err != nil || ns < 0 || n < 0 {
			return sample, fmt.Errorf("read the output of fio: latency bin %q has the invalid count %d", bin, n)
		}
		if n > 0 {
			sample.Latency.Record(time.Duration(ns), n)
			sample.Operations += n
		}
	}
	return sample, nil
}

// generatorCPU is how many CPUs the workers used.
func (j *job) generatorCPU(elapsed time.Duration) float64 {
	if elapsed <= 0 {
		return 0
	}
	cpu := (j.User + j.System) / 100 * float64(j.Runtime) / 1000 / elapsed.Seconds()
	if math.IsNaN(cpu) || math.IsInf(cpu, 0) {
		return 0
	}
	return cpu
}
