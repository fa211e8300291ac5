package imported

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"

	"plimsoll/internal/measure"
)

// fioDocument holds the used fields of fio's JSON output. Its counts are those of the whole
// run.
type fioDocument struct {
	Version   string            `json:"fio version"`
	Timestamp int64             `json:"timestamp_ms"`
	Seconds   int64             `json:"timestamp"` // of versions without milliseconds
	Global    map[string]string `json:"global options"`
	Jobs      []fioJob          `json:"jobs"`
	Clients   []fioJob          `json:"client_stats"`
}

type fioJob struct {
	Name    string            `json:"jobname"`
	Group   int               `json:"groupid"`
	Error   int               `json:"error"`
	Failed  int64             `json:"total_err"` // operations; only with continue_on_error
	Elapsed float64           `json:"elapsed"`   // s
	Left    float64           `json:"eta"`       // s; noETA if fio cannot tell
	Options map[string]string `json:"job options"`
	Read    fioDirection      `json:"read"`
	Write   fioDirection      `json:"write"`
	Trim    fioDirection      `json:"trim"`
	Mixed   fioDirection      `json:"mixed"` // of --unified_rw_reporting: reads, writes and trims in one
}

type fioDirection struct {
	Bytes      int64      `json:"io_bytes"`
	Operations int64      `json:"total_ios"`
	Rate       float64    `json:"iops"`
	Runtime    int64      `json:"runtime"` // ms
	Latency    fioLatency `json:"lat_ns"`
	Completion fioLatency `json:"clat_ns"`
	// Versions 1 and 2 print microseconds.
	OldLatency    fioLatency `json:"lat"`
	OldCompletion fioLatency `json:"clat"`
}

type fioLatency struct {
	Count       int64              `json:"N"`
	Mean        float64            `json:"mean"` // ns
	Max         float64            `json:"max"`  // ns
	Percentiles map[string]float64 `json:"percentile"`
	Bins        map[string]int64   `json:"bins"` // by ns
}

// allClients is fio's name of the sum over its clients.
const allClients = "All clients"

// noETA is fio's time left of a run whose end it cannot tell.
const noETA = math.MaxInt32

// ended reports whether a document is the result of a run that reached its end, rather than its last state.
func (d *fioDocument) ended() bool { return d.Jobs[0].Left == 0 || d.Jobs[0].Left >= noETA }

// parseFio reads the output of fio: one document, or with --status-interval several cumulative
// ones, of which the last complete one counts. Other text may precede, separate and follow
// them. A document begins at the start of a line.
func parseFio(data []byte) (doc *fioDocument, warnings []string, err error) {
	var fault error // of the first part that is not a document
	for at := 0; at < len(data); {
		start := documentAt(data, at)
		if start < 0 {
			break
		}
		at = start
		var next fioDocument
		decoder := json.NewDecoder(bytes.NewReader(data[at:]))
		if e := decoder.Decode(&next); e != nil {
			e = fmt.Errorf("line %d: %w", 1+bytes.Count(data[:at+place(e, len(data)-at)], []byte("\n")), plain(e))
			if doc != nil {
				warnings = append(warnings, "the end of the file is damaged; using the last complete document: "+e.Error())
				break
			}
			if fault == nil {
				fault = e
			}
			at = lineAfter(data, at)
			continue
		}
		at += int(decoder.InputOffset())
		if next.Version != "" {
			doc = &next
		}
	}
	switch {
	case doc == nil && fault != nil:
		return nil, nil, fault
	case doc == nil:
		return nil, nil, errors.New(`no result of fio: run fio with --output-format=json+`)
	}
	if err := doc.complete(); err != nil {
		return nil, nil, err
	}
	return doc, warnings, nil
}

// documentAt is the index of the next brace at the start of a line, or directly after a
// document; -1 if there is none.
func documentAt(data []byte, at int) int {
	for at < len(data) {
		rest := bytes.TrimLeft(data[at:], " \t\r\n")
		if at = len(data) - len(rest); len(rest) > 0 && rest[0] == '{' {
			return at
		}
		at = lineAfter(data, at)
	}
	return -1
}

func lineAfter(data []byte, at int) int {
	if i := bytes.IndexByte(data[at:], '\n'); i >= 0 {
		return at + i + 1
	}
	return len(data)
}

// complete collects the jobs of a document and validates them.
func (d *fioDocument) complete() error {
	if len(d.Jobs) == 0 {
		for _, c := range d.Clients {
			if c.Name != allClients {
				d.Jobs = append(d.Jobs, c)
			}
		}
	}
	if len(d.Jobs) == 0 {
		return errors.New("the result of fio has no jobs: the run ended before any started")
	}
	old := d.old()
	for i := range d.Jobs {
		j := &d.Jobs[i]
		for _, one := range []*fioDirection{&j.Read, &j.Write, &j.Trim, &j.Mixed} {
			if old {
				one.convertOld()
			}
			// Latencies are in nanoseconds from here on.
			one.OldLatency, one.OldCompletion = fioLatency{}, fioLatency{}
		}
	}
	return d.check()
}

// old reports whether a document is from fio before 3.0.
func (d *fioDocument) old() bool {
	major, _, _ := strings.Cut(strings.TrimPrefix(d.Version, "fio-"), ".")
	n, err := strconv.Atoi(major)
	return err == nil && n < 3
}

// convertOld converts output of fio before 3.0: microseconds to nanoseconds, KiB to bytes.
// Versions before 2.2 print no number of operations; it is rate times time.
func (d *fioDirection) convertOld() {
	if d.Latency.Mean > 0 || d.Completion.Mean > 0 {
		return // 2.99 prints as 3.0 does
	}
	d.Bytes *= 1 << 10
	d.Latency, d.Completion = d.OldLatency.fromMicroseconds(), d.OldCompletion.fromMicroseconds()
	if d.Operations == 0 && d.Rate > 0 {
		d.Operations = int64(math.Round(d.Rate * float64(d.Runtime) / 1000))
	}
}

func (l fioLatency) fromMicroseconds() fioLatency {
	const k = 1000
	n := fioLatency{Count: l.Count, Mean: k * l.Mean, Max: k * l.Max}
	if l.Percentiles != nil {
		n.Percentiles = map[string]float64{}
	}
	for name, v := range l.Percentiles {
		n.Percentiles[name] = k * v
	}
	return n
}

// place is the offset of a decoding error in the input.
func place(err error, end int) int {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		return min(int(max(0, syntax.Offset-1)), end)
	case errors.As(err, &kind):
		return min(int(max(0, kind.Offset-1)), end)
	}
	return end
}

// plain rewrites the decoder's error at the end of a file.
func plain(err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("truncated document")
	}
	return err
}

// check returns an error for negative counts.
func (d *fioDocument) check() error {
	for _, j := range d.Jobs {
		for class, one := range j.directions() {
			if one.Bytes < 0 || one.Operations < 0 || one.Runtime < 0 || one.Latency.Count < 0 {
				return fmt.Errorf("job %q: a count of %s is negative", j.Name, operations(class))
			}
		}
	}
	return nil
}

// mixed is the class of reads and writes that fio reports as one.
const mixed = ""

// directions are the operation classes of a job. With --unified_rw_reporting=both, the sum of
// reads and writes is left out.
func (j *fioJob) directions() map[string]*fioDirection {
	all := map[string]*fioDirection{"read": &j.Read, "write": &j.Write}
	if j.Read.Operations+j.Write.Operations == 0 && j.Mixed.Operations > 0 {
		all[mixed] = &j.Mixed
	}
	return all
}

// operations names the operations of a class.
func operations(class string) string {
	if class == mixed {
		return "operations"
	}
	return class + "s"
}

// seconds is the longest run time of the classes of a job.
func (j *fioJob) seconds() float64 {
	return float64(max(j.Read.Runtime, j.Write.Runtime, j.Mixed.Runtime, j.Trim.Runtime)) / 1000
}

// phases groups the jobs that ran at the same time. A new group is one that waited for those
// before it (stonewall), or that ran beside them (new_group). fio prints neither option, but
// the run times of sequential groups cannot exceed the total.
func (d *fioDocument) phases() [][]fioJob {
	var phases [][]fioJob
	var longest []float64 // s, of each phase
	for i, j := range d.Jobs {
		if i == 0 || j.Group != d.Jobs[i-1].Group {
			phases, longest = append(phases, nil), append(longest, 0)
		}
		last := len(phases) - 1
		phases[last] = append(phases[last], j)
		longest[last] = max(longest[last], j.seconds())
	}
	total := 0.0
	for _, seconds := range longest {
		total += seconds
	}
	const rounding = 1.5 // fio prints whole seconds
	if elapsed := d.elapsed(); elapsed > 0 && total > elapsed+rounding {
		return [][]fioJob{d.Jobs}
	}
	return phases
}

// elapsed is the run time of the whole run, in seconds.
func (d *fioDocument) elapsed() float64 {
	longest := 0.0
	for _, j := range d.Jobs {
		longest = max(longest, j.Elapsed)
	}
	return longest
}

// end is the time at which the document was printed.
func (d *fioDocument) end() time.Time {
	if d.Timestamp > 0 {
		return time.UnixMilli(d.Timestamp).UTC()
	}
	return time.Unix(d.Seconds, 0).UTC()
}

// histogram converts fio's bins.
func (l *fioLatency) histogram() (*measure.Histogram, error) {
	h := measure.NewHistogram()
	for bin, n := range l.Bins {
		ns, err := strconv.ParseInt(bin, 10, 64)
		if err != nil || ns < 0 || n < 0 {
			return nil, fmt.Errorf("latency bin %q has the invalid count %d", bin, n)
		}
		if n > 0 {
			h.Record(time.Duration(ns), n)
		}
	}
	return h, nil
}
