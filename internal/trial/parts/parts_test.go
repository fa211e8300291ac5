package parts

import (
	"testing"
	"time"

	"plimsoll/internal/measure"
	"plimsoll/internal/study"
	"plimsoll/internal/trial/machines"
	"plimsoll/internal/workload"
)

// Machines whose clocks differ add up to the whole, with their response times.
func TestPartsAddUp(t *testing.T) {
	kind := workload.Kind{Name: "storage", Rate: "iops"}
	subject := study.Group{Machines: 2, Subject: true}
	var set machines.Set
	whole := measure.NewRecorder(nil)
	merger := measure.NewMerger(2, whole)
	for k, step := range []time.Duration{time.Second - 2*time.Millisecond, time.Second + 3*time.Millisecond} {
		m := &machines.Member{Name: []string{"a", "b"}[k], Index: k, Group: subject, Kind: kind, Recorder: measure.NewRecorder(nil), Sampler: &machines.Sampler{}}
		for i := range 6 {
			in := measure.Interval{From: time.Duration(i) * step, To: time.Duration(i+1) * step}
			n := int64(100 + i + 10*k)
			s := measure.Sample{Class: "read", Operations: n, Bytes: 4096 * n, Latency: measure.NewHistogram()}
			s.Latency.Record(time.Duration(k+1)*time.Millisecond, n)
			in.Samples = append(in.Samples, s)
			m.Recorder.Interval(in)
		}
		for _, in := range m.Recorder.Intervals() {
			merger.Take(k, in)
		}
		set = append(set, m)
	}
	all := whole.Intervals()
	window := measure.Window{Cut: all[1].From.Seconds(), End: all[4].To.Seconds()}
	sum, err := measure.Summarise(all, window, "iops")
	if err != nil {
		t.Fatal(err)
	}
	p := &Parts{Study: &study.Study{}, Kind: kind, ArmGroups: set, Record: &measure.Record{Window: window, Values: sum.Values, Counts: sum.Counts}, Whole: whole}
	files := map[string][]byte{}
	if err := p.Divide(files); err != nil {
		t.Fatal(err)
	}
	n := int64(0)
	for _, part := range p.Record.Parts {
		n += part.Counts["read.operations"]
	}
	if n != sum.Counts["read.operations"] {
		t.Errorf("the parts did %d operations, the whole %d", n, sum.Counts["read.operations"])
	}
	dir := measure.OpenResults(t.TempDir())
	if _, err := dir.WriteTrial(p.Record, files); err != nil {
		t.Fatal(err)
	}
	for k, name := range []string{"a", "b"} {
		h, err := dir.HistogramsOf(p.Record, name)
		if err != nil || h["read"].Count() != p.Record.Parts[k].Counts["read.operations"] || h["read"].Mean().Round(time.Millisecond) != time.Duration(k+1)*time.Millisecond {
			t.Errorf("machine %s: %v, %v", name, h["read"], err)
		}
	}
}
