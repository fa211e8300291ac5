package fio

import (
	"fmt"
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/measure"
)

// replay reads a stream in pieces of a size, as a pipe may hand it over.
func replay(text []byte, piece int) (*measure.Recorder, *Series, error) {
	out := measure.NewRecorder(nil)
	var s Series
	split := &Splitter{Each: func(object []byte) error {
		in, some, err := s.Next(object)
		if some {
			out.Interval(in)
		}
		return err
	}}
	for len(text) > 0 {
		n := min(piece, len(text))
		if _, err := split.Write(text[:n]); err != nil {
			return out, &s, err
		}
		text = text[n:]
	}
	return out, &s, nil
}

func recorded(t testing.TB) []byte {
	t.Helper()
	text, err := os.ReadFile("testdata/mixed.txt")
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// The recording is of fio 3.33: two disks, 70 % reads, paced, for one second.
func TestARecordingBecomesIntervals(t *testing.T) {
	text := recorded(t)
	for _, piece := range []int{1, 7, 4096, len(text)} {
		out, s, err := replay(text, piece)
		if err != nil {
			t.Fatal(err)
		}
		intervals := out.Intervals()
		if len(intervals) != 5 {
			t.Fatalf("pieces of %d: %d intervals, want 5", piece, len(intervals))
		}
		var at time.Duration
		sums := map[string]measure.Sample{}
		for i := range intervals {
			in := &intervals[i]
			if in.From != at || in.To <= in.From {
				t.Errorf("an interval from %s to %s follows %s", in.From, in.To, at)
			}
			at = in.To
			for _, sample := range in.Samples {
				sum := sums[sample.Class]
				sum.Operations += sample.Operations
				sum.Bytes += sample.Bytes
				sum.Total += sample.Total
				sums[sample.Class] = sum
				if n := in.Latency(sample.Class).Count(); n != sample.Operations {
					t.Errorf("%s from %s: %d operations, %d response times", sample.Class, in.From, sample.Operations, n)
				}
			}
		}
		if at != 1013*time.Millisecond { // 12 ms after the last operation
			t.Errorf("the intervals end at %s", at)
		}
		last := s.Last.Jobs[0]
		for class, d := range map[string]Direction{"read": last.Read, "write": last.Write} {
			sum := sums[class]
			if sum.Operations != d.Latency.Count || sum.Bytes != d.Bytes || sum.Bytes != 4096*sum.Operations {
				t.Errorf("%s: the intervals add up to %+v, the last document says %d operations, %d bytes", class, sum, d.Latency.Count, d.Bytes)
			}
			if want := float64(d.Latency.Count) * d.Latency.Mean; math.Abs(float64(sum.Total)-want) > 10 {
				t.Errorf("%s: response times add up to %d ns, the last document to %.0f ns", class, sum.Total, want)
			}
		}
		if sums["read"].Operations != 701 || sums["write"].Operations != 300 {
			t.Errorf("got %d reads and %d writes, recorded 701 and 300", sums["read"].Operations, sums["write"].Operations)
		}
	}
}

func document1(read string) string {
	return `{"jobs":[{"jobname":"disk-01","error":0,"read":` + read + `,"write":{}}]}`
}

func TestDocumentsThatMakeNoSense(t *testing.T) {
	good := document1(`{"io_bytes":4096,"runtime":100,"lat_ns":{"N":1,"mean":5,"bins":{"5":1}}}`)
	for _, c := range []struct{ text, want string }{
		{"{nonsense}", "read the output of fio"},
		{`{"jobs":[]}`, "0 jobs"},
		{`{"jobs":[{},{}]}`, "2 jobs"},
		{good + document1(`{"io_bytes":4096,"runtime":200,"lat_ns":{"N":0,"mean":5,"bins":{}}}`), "its count of reads went down"},
		{good + document1(`{"io_bytes":0,"runtime":200,"lat_ns":{"N":1,"mean":5,"bins":{"5":1}}}`), "its count of reads went down"},
		{document1(`{"io_bytes":1,"runtime":200,"lat_ns":{"N":1,"mean":5,"bins":{"x":1}}}`), `bin "x"`},
		{document1(`{"io_bytes":1,"runtime":200,"lat_ns":{"N":1,"mean":5,"bins":{"-5":1}}}`), `bin "-5"`},
		{good + document1(`{"io_bytes":4096,"runtime":200,"lat_ns":{"N":1,"mean":5,"bins":{"5":0}}}`), `bin "5"`},
	} {
		_, _, err := replay([]byte(c.text), 16)
		if err == nil {
			t.Errorf("%s passed", c.text)
			continue
		}
		if !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %q", err, c.want)
		}
	}
}

func TestTheDocumentAtTheEndAddsNoEmptyInterval(t *testing.T) {
	one := document1(`{"io_bytes":4096,"runtime":100,"lat_ns":{"N":1,"mean":5,"bins":{"5":1}}}`)
	out, s, err := replay([]byte(one+"\nfio: text between\n"+one), 10)
	if err != nil || len(out.Intervals()) != 1 || s.Elapsed != 100*time.Millisecond {
		t.Errorf("got %d intervals up to %s, %v", len(out.Intervals()), s.Elapsed, err)
	}
}

// The counts of a document are of the time at which fio prints it, whatever it says that it ran.
func TestCountsAreOfTheTimeOfADocument(t *testing.T) {
	at := func(timestamp, ran, n int) string {
		return fmt.Sprintf(`{"timestamp_ms":%d,"jobs":[{"read":{"io_bytes":%d,"runtime":%d,"lat_ns":{"N":%d,"mean":5,"bins":{"5":%d}}}}]}`, timestamp, 4096*n, ran, n, n)
	}
	out, _, err := replay([]byte(at(5000, 0, 3)+at(5300, 250, 30)+at(6100, 500, 110)+at(6400, 1100, 140)), 100)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, in := range out.Intervals() {
		got = append(got, fmt.Sprint(in.From, " to ", in.To, ": ", in.Samples[0].Operations))
	}
	if want := "0s to 250ms: 30, 250ms to 1.05s: 80, 1.05s to 1.35s: 30"; strings.Join(got, ", ") != want {
		t.Errorf("got %s, want %s", strings.Join(got, ", "), want)
	}
}

func TestBracesInTextAreNoEnd(t *testing.T) {
	var got []string
	split := &Splitter{Each: func(object []byte) error { got = append(got, string(object)); return nil }}
	text := `noise } "{"a":"}\"}{","b":{"c":1}} more {"d":2}`
	if _, err := split.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if strings.Join(got, "|") != `{"a":"}\"}{","b":{"c":1}}|{"d":2}` {
		t.Errorf("got %q", got)
	}
}

func FuzzDocuments(f *testing.F) {
	text := recorded(f)
	f.Add(text[:8000], 100)
	f.Add([]byte(document1(`{"io_bytes":4096,"runtime":100,"lat_ns":{"N":1,"mean":5,"bins":{"5":1}}}`)), 3)
	f.Add([]byte(`}{"\"`), 1)
	f.Fuzz(func(t *testing.T, text []byte, piece int) {
		out, s, err := replay(text, max(1, piece))
		var at time.Duration
		for _, in := range out.Intervals() {
			if in.From != at || in.To <= in.From {
				t.Errorf("an interval from %s to %s follows %s", in.From, in.To, at)
			}
			at = in.To
			for _, sample := range in.Samples {
				if sample.Operations < 0 || sample.Bytes < 0 || sample.Total < 0 {
					t.Errorf("counts less than nothing: %+v", sample)
				}
			}
		}
		if err == nil && len(s.Last.Jobs) == 1 {
			if cpu := s.Last.Jobs[0].GeneratorCPU(s.Elapsed); math.IsNaN(cpu) || math.IsInf(cpu, 0) {
				t.Errorf("%g CPUs", cpu)
			}
		}
	})
}

// BenchmarkDocument is the cost of one interval: fio prints about as much in each,
// and the lab may use 1 % of a core, 2.5 ms of each 250 ms.
func BenchmarkDocument(b *testing.B) {
	text := recorded(b)
	b.SetBytes(int64(len(text)) / 5)
	for range b.N {
		if _, _, err := replay(text, 4096); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/5/1e6, "ms/document")
}
