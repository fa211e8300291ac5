package hoststat_test

import (
	"encoding/json"
	"math"
	"os"
	"testing"
	"time"

	"plimsoll/internal/hoststat"
	"plimsoll/internal/hoststat/interval"
)

// Readings of this host agree with what this process did between them.
func TestThisHost(t *testing.T) {
	r := hoststat.NewReader(hoststat.Local())
	r.Focus = []int{os.Getpid()}
	begin := time.Now()
	var series interval.Series
	series.Add(r.Read(0))
	for range 4 {
		for end := time.Now().Add(100 * time.Millisecond); time.Now().Before(end); {
			math.Sqrt(float64(end.Nanosecond()))
		}
		series.Add(r.Read(time.Since(begin).Seconds()))
	}
	mean := series.Mean()
	for name, reason := range mean.Missing {
		t.Log("missing", name, reason)
	}
	var own *hoststat.Process
	for i := range mean.Processes {
		if mean.Processes[i].PID == os.Getpid() {
			own = &mean.Processes[i]
		}
	}
	if own == nil || !own.Detailed || own.Busy() < .05 || len(own.Tasks) == 0 || own.Allowed == "" {
		t.Fatalf("this process: %+v", own)
	}
	total := 0.
	for _, c := range mean.CPUs {
		total += c.Total()
	}
	if n := float64(len(mean.CPUs)); total < .8*n || total > 1.2*n {
		t.Errorf("%v CPUs accounted for, of %v", total, n)
	}
	text, err := json.Marshal(mean)
	if err != nil || len(text) < 1000 {
		t.Errorf("%d bytes of JSON, %v", len(text), err)
	}
	facts, err := r.Facts()
	if err != nil || len(facts.CPUs) == 0 || facts.Kernel == "" {
		t.Errorf("facts %+v, %v", facts, err)
	}
}

func BenchmarkRead(b *testing.B) {
	r := hoststat.NewReader(hoststat.Local())
	b.ReportAllocs()
	for b.Loop() {
		r.Read(0)
	}
}
