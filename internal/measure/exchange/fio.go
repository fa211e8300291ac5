package exchange

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"plimsoll/internal/measure"
)

// fioDocument is what we read of the JSON that fio prints. Its counts are those of
// the whole run.
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
	Options map[string]string `json:"job options"`
	Read    fioDirection      `json:"read"`
	Write   fioDirection      `json:"write"`
}

type fioDirection struct {
	Bytes      int64      `json:"io_bytes"`
	Operations int64      `json:"total_ios"`
	Runtime    int64      `json:"runtime"` // ms
	Latency    fioLatency `json:"lat_ns"`
	Completion fioLatency `json:"clat_ns"`
}

type fioLatency struct {
	Count       int64              `json:"N"`
	Mean        float64            `json:"mean"` // ns
	Max         float64            `json:"max"`  // ns
	Percentiles map[string]float64 `json:"percentile"`
	Bins        map[string]int64   `json:"bins"` // by ns
}

// everybody is the name that fio gives to the sum over its clients.
const everybody = "All clients"

// parseFio reads what fio printed: one document, or with --status-interval several
// cumulative ones after one another, of which the last whole one counts. Lines of
// other text may stand before, between and after them.
func parseFio(data []byte) (doc *fioDocument, warnings []string, err error) {
	for at := 0; at < len(data); {
		start := bytes.IndexByte(data[at:], '{')
		if start < 0 {
			break
		}
		at += start
		var next fioDocument
		decoder := json.NewDecoder(bytes.NewReader(data[at:]))
		if e := decoder.Decode(&next); e != nil {
			e = fmt.Errorf("line %d: %w", 1+bytes.Count(data[:at+place(e, len(data)-at)], []byte("\n")), plain(e))
			if doc == nil {
				return nil, nil, e
			}
			return doc, append(warnings, "the end of the file is damaged, so the last whole document was taken: "+e.Error()), nil
		}
		at += int(decoder.InputOffset())
		if next.Version != "" {
			doc = &next
		}
	}
	if doc == nil {
		return nil, nil, errors.New(`there is no result of fio in it: run fio with --output-format=json+`)
	}
	if len(doc.Jobs) == 0 {
		for _, c := range doc.Clients {
			if c.Name != everybody {
				doc.Jobs = append(doc.Jobs, c)
			}
		}
	}
	if len(doc.Jobs) == 0 {
		return nil, nil, errors.New("the result of fio holds no job: the run ended before any started")
	}
	return doc, warnings, doc.check()
}

// place is where in its input a decoder met an error.
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

// plain words what the end of a file looks like to a decoder.
func plain(err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("the file ends in the middle of a document")
	}
	return err
}

// check refuses counts that no run of fio can have.
func (d *fioDocument) check() error {
	for _, j := range d.Jobs {
		for class, one := range j.directions() {
			if one.Bytes < 0 || one.Operations < 0 || one.Runtime < 0 || one.Latency.Count < 0 {
				return fmt.Errorf("job %q: a count of its %ss is below 0", j.Name, class)
			}
			if one.Operations > 0 && one.Latency.Mean == 0 && one.Completion.Mean == 0 {
				return fmt.Errorf("job %q: its %ss have no latency in nanoseconds: fio %s is too old, 3.0 or newer is needed", j.Name, class, strings.TrimPrefix(d.Version, "fio-"))
			}
		}
	}
	return nil
}

func (j *fioJob) directions() map[string]*fioDirection {
	return map[string]*fioDirection{"read": &j.Read, "write": &j.Write}
}

// phases splits the jobs into those that ran at the same time. A new group is one
// that waited for those before it (stonewall), or one that ran beside them
// (new_group); fio prints neither option, but groups that waited cannot have run for
// longer together than the whole.
func (d *fioDocument) phases() [][]fioJob {
	var phases [][]fioJob
	var longest []float64 // s, of each phase
	for i, j := range d.Jobs {
		if i == 0 || j.Group != d.Jobs[i-1].Group {
			phases, longest = append(phases, nil), append(longest, 0)
		}
		last := len(phases) - 1
		phases[last] = append(phases[last], j)
		longest[last] = max(longest[last], float64(max(j.Read.Runtime, j.Write.Runtime))/1000)
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

// elapsed is how long the whole run took, in seconds.
func (d *fioDocument) elapsed() float64 {
	longest := 0.0
	for _, j := range d.Jobs {
		longest = max(longest, j.Elapsed)
	}
	return longest
}

// end is when the document was printed.
func (d *fioDocument) end() time.Time {
	if d.Timestamp > 0 {
		return time.UnixMilli(d.Timestamp).UTC()
	}
	return time.Unix(d.Seconds, 0).UTC()
}

// histogram turns bins into response times.
func (l *fioLatency) histogram() (*measure.Histogram, error) {
	h := measure.NewHistogram()
	for bin, n := range l.Bins {
		ns, err := strconv.ParseInt(bin, 10, 64)
		if err != nil || ns < 0 || n < 0 {
			return nil, fmt.Errorf("latency bin %q holds %d", bin, n)
		}
		if n > 0 {
			h.Record(time.Duration(ns), n)
		}
	}
	return h, nil
}
