package storage

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"plimsoll/internal/measure/foreign"
)

// Diskspd is the XML output of DISKSPD.
func Diskspd() foreign.Format {
	return foreign.Format{
		Name: "diskspd", Doc: "`diskspd -Rxml`, DISKSPD 2", Rate: "iops", Metrics: metrics(),
		Absent: "Response times without `-L`, and histograms: there are quantiles only. Errors. Each time span is a run; IOPS by second are no trials, and are skipped. " +
			"It is a closed loop unless `-g` limits the rate.",
		Sniff: func(head []byte) bool {
			return bytes.Contains(head, []byte("<Results>")) && bytes.Contains(head, []byte("<System>"))
		},
		Parse: parseDiskspd,
	}
}

type diskspdReport struct {
	XMLName xml.Name `xml:"Results"`
	System  struct {
		Version string `xml:"Tool>Version"`
		Time    string `xml:"RunTime"`
	} `xml:"System"`
	Profile []struct {
		Warmup  float64 `xml:"Warmup"`
		Targets []struct {
			Block   string `xml:"BlockSize"`
			Depth   string `xml:"RequestCount"`
			Writes  string `xml:"WriteRatio"`
			Threads string `xml:"ThreadsPerFile"`
			Random  string `xml:"Random"`      // alignment of random I/O; absent from sequential I/O
			Share   string `xml:"RandomRatio"` // % of random I/O; absent where all or none is
			Limit   struct {
				Unit string  `xml:"unit,attr"`
				Rate float64 `xml:",chardata"`
			} `xml:"Throughput"` // of each thread, 0 is none
		} `xml:"Targets>Target"`
	} `xml:"Profile>TimeSpans>TimeSpan"`
	Spans []diskspdSpan `xml:"TimeSpan"`
}

type diskspdSpan struct {
	Seconds float64  `xml:"TestTimeSeconds"`
	CPU     *float64 `xml:"CpuUtilization>Average>UsagePercent"`
	Latency *struct {
		Read    *float64 `xml:"AverageReadMilliseconds"`
		Write   *float64 `xml:"AverageWriteMilliseconds"`
		Total   *float64 `xml:"AverageTotalMilliseconds"`
		Buckets []struct {
			Percentile float64  `xml:"Percentile"`
			Read       *float64 `xml:"ReadMilliseconds"`
			Write      *float64 `xml:"WriteMilliseconds"`
			Total      *float64 `xml:"TotalMilliseconds"`
		} `xml:"Bucket"`
	} `xml:"Latency"`
	Targets []struct {
		ReadBytes  float64 `xml:"ReadBytes"`
		Reads      float64 `xml:"ReadCount"`
		WriteBytes float64 `xml:"WriteBytes"`
		Writes     float64 `xml:"WriteCount"`
	} `xml:"Thread>Target"`
}

func parseDiskspd(t *foreign.Text) ([]foreign.Run, error) {
	data, err := t.All()
	if err != nil {
		return nil, err
	}
	decoder := xml.NewDecoder(bytes.NewReader(data))
	decoder.CharsetReader = func(_ string, in io.Reader) (io.Reader, error) { return in, nil } // decoded by Text
	var d diskspdReport
	if err := decoder.Decode(&d); err != nil {
		line, _ := decoder.InputPos()
		var syntax *xml.SyntaxError
		if errors.As(err, &syntax) {
			return nil, fmt.Errorf("line %d: invalid or truncated XML: %s", syntax.Line, syntax.Msg)
		}
		return nil, fmt.Errorf("line %d: %w", line, err)
	}
	if len(d.Spans) == 0 {
		return nil, errors.New("it has no time span with results: the test failed")
	}
	var all []foreign.Run
	for i := range d.Spans {
		r := foreign.NewRun("DISKSPD " + d.System.Version)
		if at, err := time.Parse("2006/01/02 15:04:05 MST", d.System.Time); err == nil {
			r.Start = at
		}
		if i < len(d.Profile) {
			d.levels(&r, i)
		}
		d.Spans[i].into(&r)
		all = append(all, r)
	}
	return all, nil
}

// levels are the settings of the first target of a time span.
func (d *diskspdReport) levels(r *foreign.Run, span int) {
	p := d.Profile[span]
	r.Cut = foreign.Duration(p.Warmup)
	if len(p.Targets) == 0 {
		return
	}
	first := &p.Targets[0]
	for name, text := range map[string]string{
		"block": first.Block, "depth": first.Depth, "write_ratio": first.Writes, "threads_per_file": first.Threads, "random": first.Random, "random_ratio": first.Share,
	} {
		if text != "" {
			r.Levels["diskspd."+name] = text
		}
	}
	if first.Limit.Rate > 0 {
		unit := "B/ms"
		if first.Limit.Unit != "" {
			unit = first.Limit.Unit
		}
		r.Levels["diskspd.limit"] = strconv.FormatFloat(first.Limit.Rate, 'f', -1, 64) + " " + unit
	}
	r.Levels["diskspd.targets"] = strconv.Itoa(len(p.Targets))
}

func (s *diskspdSpan) into(r *foreign.Run) {
	r.Length = foreign.Duration(s.Seconds)
	if s.Seconds <= 0 {
		r.Void = "the time span has no length"
		return
	}
	var count, moved [2]float64 // reads, writes
	for _, t := range s.Targets {
		count[0], count[1], moved[0], moved[1] = count[0]+t.Reads, count[1]+t.Writes, moved[0]+t.ReadBytes, moved[1]+t.WriteBytes
	}
	for i, class := range []string{"read", "write"} {
		if count[i] > 0 {
			prefix := r.Class(class)
			r.Counts[prefix+"operations"] = foreign.Events(count[i])
			r.Values[prefix+"iops"], r.Values[prefix+"throughput"] = count[i]/s.Seconds, moved[i]/s.Seconds
		}
	}
	r.Counts["operations"] = foreign.Events(count[0] + count[1])
	r.Values["iops"], r.Values["throughput"] = (count[0]+count[1])/s.Seconds, (moved[0]+moved[1])/s.Seconds
	if s.CPU != nil {
		r.Values["host.cpu"] = *s.CPU / 100
	}
	if s.Latency == nil {
		return
	}
	latency := func(prefix string, ms *float64) {
		if ms != nil && r.Counts[prefix+"operations"] > 0 {
			r.Values[prefix+"mean"] = *ms / 1e3
		}
	}
	latency("", s.Latency.Total)
	latency("read.", s.Latency.Read)
	latency("write.", s.Latency.Write)
	for _, b := range s.Latency.Buckets {
		for prefix, ms := range map[string]*float64{"": b.Total, "read.": b.Read, "write.": b.Write} {
			n := r.Counts[prefix+"operations"]
			switch {
			case ms == nil || n == 0:
			case b.Percentile == 100:
				r.Values[prefix+"max"] = *ms / 1e3
			default:
				r.Quantile(prefix+"p"+strconv.FormatFloat(b.Percentile, 'f', -1, 64), *ms/1e3, n)
			}
		}
	}
}
