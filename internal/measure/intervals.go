package measure

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

const hlogVersion = "#[Histogram log format version 1.3]\n"

// EncodeIntervals returns the files intervals.csv and intervals.hlog, which decodeIntervals
// reads. The log is in the format of HdrHistogram 2.x, with the class as the tag of a line.
func EncodeIntervals(intervals []Interval) map[string][]byte {
	var counts, log bytes.Buffer
	counts.WriteString("from_s,to_s,class,operations,bytes,errors,timed_out,response_s,scheduled,on_time,late,abandoned\n")
	log.WriteString(hlogVersion)
	for _, in := range intervals {
		offer := in.Offer
		for _, s := range in.Samples {
			fmt.Fprintf(&counts, "%s,%s,%s,%d,%d,%d,%d,%s,%d,%d,%d,%d\n", seconds(in.From), seconds(in.To), s.Class, s.Operations, s.Bytes, s.Errors,
				s.TimedOut, seconds(s.Total), offer.Scheduled, offer.OnTime, offer.Late, offer.Abandoned)
			offer = Offer{} // common to all classes, in the first line only
			if h, ok := in.latency[s.Class]; ok {
				logLine(&log, line{s.Class, in.From, in.To, h})
			}
		}
	}
	return map[string][]byte{"intervals.csv": counts.Bytes(), "intervals.hlog": log.Bytes()}
}

// LatencyFile is the name of the file with the response times of the window, of one of several machines or, without a name, of all together.
func LatencyFile(machine string) string {
	if machine != "" {
		machine = "-" + machine
	}
	return "latency" + machine + ".hlog"
}

// EncodeHistograms encodes the response times of a window by class, "" for all classes together.
func EncodeHistograms(histograms map[string]*Histogram, window Window) []byte {
	var log bytes.Buffer
	log.WriteString(hlogVersion)
	for _, class := range slices.Sorted(maps.Keys(histograms)) {
		from, to := time.Duration(window.Cut*1e9), time.Duration(window.End*1e9)
		logLine(&log, line{class, from, to, histograms[class].compact()})
	}
	return log.Bytes()
}

// seconds writes a duration exactly, to the nanosecond.
func seconds(d time.Duration) string {
	return fmt.Sprintf("%d.%09d", d/time.Second, d%time.Second)
}

// line is one line of a histogram log.
type line struct {
	class    string
	from, to time.Duration
	h        compact
}

func logLine(log *bytes.Buffer, l line) {
	if l.class != "" {
		fmt.Fprintf(log, "Tag=%s,", l.class)
	}
	fmt.Fprintf(log, "%s,%s,%.3f,%s\n", seconds(l.from), seconds(l.to-l.from), float64(l.h.max())/1e6, l.h.encode())
}

const (
	// mostHits bounds the counters of the histograms of a trial: compressed, they may be tiny.
	mostHits = 1 << 25
	// mostClasses bounds the operation classes of a trial whose histograms are decoded.
	mostClasses = 1000
)

// decodeIntervals reads the output of EncodeIntervals. Without intervals.hlog the intervals
// have no histograms.
func decodeIntervals(files map[string][]byte) ([]Interval, error) {
	latency, err := decodeLog(files["intervals.hlog"])
	if err != nil {
		return nil, fmt.Errorf("read intervals.hlog: %w", err)
	}
	rows, err := csv.NewReader(bytes.NewReader(files["intervals.csv"])).ReadAll()
	if err != nil {
		return nil, fmt.Errorf("read intervals.csv: %w", err)
	}
	var intervals []Interval
	hits := 0
	for n, row := range rows {
		if n == 0 {
			continue
		}
		from, to, s, offer, err := decodeRow(row)
		if err != nil {
			return nil, fmt.Errorf("read intervals.csv, line %d: %w", n+1, err)
		}
		if k := len(intervals); k == 0 || intervals[k-1].From != from {
			intervals = append(intervals, Interval{From: from, To: to, latency: map[string]compact{}})
		}
		last := &intervals[len(intervals)-1]
		last.Samples = append(last.Samples, s)
		if offer != (Offer{}) {
			last.Offer = offer
		}
		if text, ok := latency[logKey{s.Class, from}]; ok {
			h := new(Histogram)
			if err := h.UnmarshalText(text); err != nil {
				return nil, fmt.Errorf("read intervals.hlog, class %q at %s s: %w", s.Class, seconds(from), err)
			}
			last.latency[s.Class] = h.compact()
			if hits += h.Hits(); hits > mostHits {
				return nil, fmt.Errorf("read intervals.hlog: more than %d counters after decompression", mostHits)
			}
		}
	}
	return intervals, nil
}

func decodeRow(row []string) (from, to time.Duration, s Sample, o Offer, err error) {
	if len(row) != 12 {
		return 0, 0, s, o, fmt.Errorf("%d fields; expected 12", len(row))
	}
	s.Class = row[2]
	for i, into := range [...]*int64{
		3: &s.Operations, 4: &s.Bytes, 5: &s.Errors, 6: &s.TimedOut, 8: &o.Scheduled, 9: &o.OnTime, 10: &o.Late, 11: &o.Abandoned,
	} {
		if into == nil {
			continue
		}
		if *into, err = strconv.ParseInt(row[i], 10, 64); err != nil {
			return 0, 0, s, o, err
		}
		if *into < 0 {
			return 0, 0, s, o, fmt.Errorf("field %d is %d, and cannot be negative", i+1, *into)
		}
	}
	for i, into := range [...]*time.Duration{0: &from, 1: &to, 7: &s.Total} {
		if into == nil {
			continue
		}
		if *into, err = time.ParseDuration(row[i] + "s"); err != nil {
			return 0, 0, s, o, err
		}
		if *into < 0 {
			return 0, 0, s, o, fmt.Errorf("field %d is %s, and cannot be negative", i+1, *into)
		}
	}
	return from, to, s, o, nil
}

type logKey struct {
	class string
	start time.Duration
}

func decodeLog(data []byte) (map[logKey][]byte, error) {
	texts := map[logKey][]byte{}
	lines := bufio.NewScanner(bytes.NewReader(data))
	lines.Buffer(nil, 4<<20)
	for n := 1; lines.Scan(); n++ {
		line := lines.Text()
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		fields := strings.Split(line, ",")
		class := ""
		if tag, ok := strings.CutPrefix(fields[0], "Tag="); ok {
			class, fields = tag, fields[1:]
		}
		if len(fields) != 4 {
			return nil, fmt.Errorf("line %d: %d fields instead of 4", n, len(fields))
		}
		start, err := time.ParseDuration(fields[0] + "s")
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		texts[logKey{class, start}] = []byte(fields[3])
	}
	return texts, lines.Err()
}

// decodeHistograms reads the output of EncodeHistograms, by class.
func decodeHistograms(data []byte) (map[string]*Histogram, error) {
	texts, err := decodeLog(data)
	if err != nil {
		return nil, fmt.Errorf("read histogram log: %w", err)
	}
	histograms := map[string]*Histogram{}
	if len(texts) > mostClasses {
		return nil, fmt.Errorf("read histogram log: more than %d lines", mostClasses)
	}
	for key, text := range texts {
		h := new(Histogram)
		if err := h.UnmarshalText(text); err != nil {
			return nil, fmt.Errorf("read histogram log, class %q: %w", key.class, err)
		}
		histograms[key.class] = h
	}
	return histograms, nil
}

// Intervals reads the intervals of a trial with their response times, which are many times
// larger than the counts.
func (r *Results) Intervals(record *Record) ([]Interval, error) {
	files := map[string][]byte{}
	for _, name := range []string{"intervals.csv", "intervals.hlog"} {
		data, err := r.File(record, name)
		if err != nil {
			return nil, err
		}
		files[name] = data
	}
	return decodeIntervals(files)
}

// Counts reads the intervals of a trial without their response times.
func (r *Results) Counts(record *Record) ([]Interval, error) {
	data, err := r.File(record, "intervals.csv")
	if err != nil {
		return nil, err
	}
	return decodeIntervals(map[string][]byte{"intervals.csv": data})
}

// Histograms reads the response times of a trial's window, by class.
func (r *Results) Histograms(record *Record) (map[string]*Histogram, error) {
	return r.HistogramsOf(record, "")
}

// HistogramsOf reads the response times of one of several machines in a trial's window, by class.
func (r *Results) HistogramsOf(record *Record, machine string) (map[string]*Histogram, error) {
	data, err := r.File(record, LatencyFile(machine))
	if err != nil {
		return nil, err
	}
	return decodeHistograms(data)
}
