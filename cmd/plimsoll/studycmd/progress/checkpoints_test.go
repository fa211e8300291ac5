package progress

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/trial"
)

// Each guest with a standby has its line; others have none.
func TestCheckpointsOfGuests(t *testing.T) {
	e := trial.Event{Phase: "measure", Counters: []trial.MachineCounters{
		{Machine: "client", Shares: map[string]float64{"steal": 0.1}},
		{Machine: "server", Checkpoints: map[string]float64{
			"guest.checkpoints": 9.5, "guest.pause": 0.018, "guest.copied": 4.25e6, "guest.output_delay": 0.0615, "guest.failovers": 0.5,
		}},
	}}
	var out, err bytes.Buffer
	c := &checkpoints{out: &out, err: &err, began: time.Now()}
	c.take(e)
	c.take(trial.Event{Phase: "measure"})
	want := "  0 s  server   9.5 checkpoints/s  pause  18.0 ms  copied   4.25 MB/s  output delayed by  61.5 ms\n  0 s  server  its standby has taken over\n"
	if out.String() != want || err.String() != "  0 s  measure\n" {
		t.Errorf("it shows %q and %q", &out, &err)
	}
	out.Reset()
	c.json = true
	c.take(e)
	if got := out.String(); !strings.HasSuffix(got, `"machine":"server","checkpoints":9.5,"pause":0.018,"copied":4250000,"output_delay":0.0615,"failovers":0.5}`+"\n") {
		t.Errorf("as JSON it shows %q", got)
	}
}
