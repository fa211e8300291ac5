package cqliot

import (
	"os"
	"testing"
	"time"

	"plimsoll/internal/load"
	"plimsoll/internal/load/socket"
	"plimsoll/internal/measure"
	"plimsoll/internal/parameter"
	"plimsoll/internal/workload/cqliot/driver"
)

// crash kills a server in the middle of a load that writes as fast as it can, and starts it
// again on what it holds.
func crash(t *testing.T, s *server, i *iot) (done, failed int64, c *trialRun) {
	t.Helper()
	c, err := i.begin(t.Context(), s.env)
	if err != nil {
		t.Fatal(err)
	}
	over := make(chan struct{})
	time.AfterFunc(1500*time.Millisecond, func() { defer close(over); s.restart(t, 0, "") })
	out := measure.NewRecorder(nil)
	err = socket.Run(t.Context(), c.job(load.Stage{Length: 2 * time.Second, Interval: time.Second / 2, Seed: 1}), out)
	<-over
	if err != nil {
		t.Fatal(err)
	}
	await(t, s.at)
	done, failed = counted(out)
	return done, failed, c
}

// A server that does not wait for the disk loses what it acknowledged last when it is
// killed, and that is noticed: it marks the end of its log some times a second.
func TestRealPeriodicKill(t *testing.T) {
	if os.Getenv("PLIMSOLL_DEEP") == "" {
		t.Skip("set PLIMSOLL_REAL=1 PLIMSOLL_DEEP=1 to kill a Cassandra that does not wait for the disk")
	}
	s := serve(t, nil)
	l, err := Kind(driver.Open).New(parameter.Settings{"rampup": "1000", "read_ratio": "0"})
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Prepare(t.Context(), s.env); err != nil {
		t.Fatal(err)
	}
	done, failed, c := crash(t, s, l.(*iot))
	written := c.sum().acknowledged
	wrong, why, err := c.verify(t.Context(), written)
	rows := ask(t, s.at, "SELECT COUNT(*) FROM "+keyspace+".iot")
	t.Logf("%d done, %d failed; %d of %d that were looked for are lost%s; with the ramp-up of 1000 there are %v rows", done, failed, wrong, len(written), why, rows)
	if err != nil || done < 100 || failed == 0 || wrong == len(written) {
		t.Errorf("%d done, %d failed, %d of %d are lost, %v", done, failed, wrong, len(written), err)
	}
}
