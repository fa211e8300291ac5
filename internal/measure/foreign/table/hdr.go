package table

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"plimsoll/internal/measure"
	"plimsoll/internal/measure/foreign"
	"plimsoll/internal/pattern"
)

// HDR is an interval log of HdrHistogram.
func HDR(unit time.Duration) foreign.Format {
	return foreign.Format{
		Name: "hdr", Doc: "interval log of HdrHistogram (YCSB, cassandra-stress, NoSQLBench, Hyperfoil ...), with `--unit` of its values", Rate: "operations", Metrics: measure.OperationMetrics("operations"),
		Absent: "The unit of its values: YCSB writes µs, cassandra-stress ns. Errors, settings and the tool. A file is one run: its intervals are no trials, and their histograms are merged. Tags are classes of operations. " +
			"The encodings V1 and V2 are read, those of doubles are not. No base time is subtracted.",
		Sniff: func(head []byte) bool {
			return bytes.Contains(head, []byte("[Histogram log format version ")) || bytes.Contains(head, []byte(`"Interval_Compressed_Histogram"`)) || hdrRow().Match(head)
		},
		Parse: func(t *foreign.Text) ([]foreign.Run, error) { return parseHDR(t, unit) },
	}
}

var (
	hdrStart = pattern.Of(`^#\[StartTime: ([0-9.]+) `)
	hdrRow   = pattern.Of(`(?m)^(?:Tag=[^,\n]*,)?[0-9.]+,[0-9.]+,[0-9.]+,HIST`) // of a log without a head
)

// hdrLog merges the intervals of a log.
type hdrLog struct {
	unit      time.Duration
	first     float64 // s, start of the first interval
	last      float64 // end of the last
	intervals int
	start     time.Time
	classes   map[string]*measure.Histogram
}

func parseHDR(t *foreign.Text, unit time.Duration) ([]foreign.Run, error) {
	if unit == 0 {
		return nil, errors.New("the unit of its values is not in an HDR log: name it with --unit ns, us or ms (YCSB writes us, cassandra-stress ns)")
	}
	l := &hdrLog{unit: unit, classes: map[string]*measure.Histogram{}}
	for t.Next() {
		if err := l.line(t.Line()); err != nil {
			return nil, t.Errorf("%w", err)
		}
	}
	if t.Err() != nil {
		return nil, t.Err()
	}
	return []foreign.Run{l.run()}, nil
}

func (l *hdrLog) line(line string) error {
	if m := hdrStart().FindStringSubmatch(line); m != nil {
		at, err := foreign.Number(m[1])
		if err == nil && at < 1e11 {
			l.start = time.Unix(0, int64(at*1e9)).UTC()
		}
		return err
	}
	if line == "" || line[0] == '#' || line[0] == '"' {
		return nil
	}
	fields := strings.Split(strings.TrimSpace(line), ",")
	class := ""
	if tag, ok := strings.CutPrefix(fields[0], "Tag="); ok {
		class, fields = tag, fields[1:]
	}
	const columns = 4
	if len(fields) != columns {
		return foreign.Truncated(len(fields), columns)
	}
	from, err := foreign.Number(fields[0])
	if err != nil {
		return err
	}
	length, err := foreign.Number(fields[1])
	if err != nil {
		return err
	}
	h, err := foreign.Histogram(fields[3], l.unit)
	if err != nil {
		return err
	}
	if l.intervals == 0 || from < l.first {
		l.first = from
	}
	l.intervals, l.last = l.intervals+1, max(l.last, from+length)
	if l.classes[class] == nil {
		l.classes[class] = measure.NewHistogram()
	}
	l.classes[class].Merge(h)
	const most = 64
	if len(l.classes) > most {
		return fmt.Errorf("more than %d tags", most)
	}
	return nil
}

func (l *hdrLog) run() foreign.Run {
	r := foreign.NewRun("HdrHistogram")
	r.Start, r.Length = l.start, foreign.Duration(l.last-l.first)
	all := measure.NewHistogram()
	for _, class := range slices.Sorted(maps.Keys(l.classes)) {
		h := l.classes[class]
		all.Merge(h)
		if class != "" {
			l.of(&r, r.Class(class), h)
		}
	}
	l.of(&r, "", all)
	if all.Count() == 0 {
		r.Void = "the log has no response time"
	}
	return r
}

func (l *hdrLog) of(r *foreign.Run, prefix string, h *measure.Histogram) {
	r.Counts[prefix+"operations"] = h.Count()
	if seconds := r.Length.Seconds(); seconds > 0 {
		r.Values[prefix+"operations"] = float64(h.Count()) / seconds
	}
	if h.Count() > 0 {
		r.Values[prefix+"mean"], r.Values[prefix+"max"] = h.Mean().Seconds(), h.Max().Seconds()
	}
	r.Distribution(prefix, h)
}
