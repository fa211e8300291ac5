package postgresql

import (
	"context"
	"slices"
	"testing"
	"time"

	"plimsoll/internal/service"
)

// recorded is the log of two servers, of versions 15 and 17, which begins in a checkpoint.
const recorded = `2026-11-23 20:00:01.500 GMT [31] LOG:  checkpoint complete: wrote 44 buffers (0.3%); 0 WAL file(s) added, 0 removed, 0 recycled; write=3.901 s, sync=0.040 s, total=4.000 s; sync files=13, longest=0.010 s, average=0.004 s; distance=270 kB, estimate=270 kB
2026-11-23 20:00:02.000 GMT [31] LOG:  checkpoint starting: wal
2026-11-23 20:00:03.000 GMT [99] ERROR:  canceling statement due to user request
2026-11-23 20:00:03.000 GMT [99] STATEMENT:  SELECT 'checkpoint starting: time'
server 2 of 2:
2026-11-23 20:00:02.250 GMT [47] LOG:  checkpoint starting: immediate force wait
2026-11-23 20:00:05.125 GMT [47] LOG:  checkpoint complete: wrote 9 buffers (0.1%), wrote 2 SLRU buffers; 0 WAL file(s) added, 0 removed, 1 recycled; write=2.7 s, sync=0.1 s, total=2.875 s; sync files=3, longest=0.010 s, average=0.004 s; distance=9 kB, estimate=9 kB; lsn=0/1, redo lsn=0/1
2026-11-23 20:00:05.125 GMT [47] LOG:  checkpoint complete: torn
`

func TestCheckpointsOfALog(t *testing.T) {
	at := func(seconds float64) time.Time {
		return time.Date(2026, 11, 23, 20, 0, 0, 0, time.UTC).Add(time.Duration(seconds * float64(time.Second)))
	}
	want := []service.Event{
		{From: at(-2.5), To: at(1.5), Name: "checkpoint"},
		{From: at(2), Name: "checkpoint"}, // it goes on
		{From: at(2.25), To: at(5.125), Name: "checkpoint"},
	}
	if got := events([]byte(recorded)); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if got := events(nil); got != nil {
		t.Errorf("of an empty log: %v", got)
	}
}

// A real server logs its checkpoints as they are read, on the clock of its machine.
func TestRealCheckpointIsAnEvent(t *testing.T) {
	m := here(t)
	i, _, err := startIn(t, m, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := i.Stop(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	at, err := i.Endpoint(protocol)
	if err != nil {
		t.Fatal(err)
	}
	at.User, at.Database = superuser, "postgres"
	i.(service.Logging).Logged(t.Context())
	began := time.Now().Truncate(time.Millisecond) // as precise as the log
	if _, err := newClient(m, at).Ask(t.Context(), "CHECKPOINT"); err != nil {
		t.Fatal(err)
	}
	ended := time.Now()
	var log []byte
	for len(events(log)) == 0 || events(log)[0].To.IsZero() {
		if log = append(log, i.(service.Logging).Logged(t.Context())...); time.Since(ended) > time.Minute {
			t.Fatalf("the log is %q", log)
		}
	}
	if e := events(log)[0]; e.From.Before(began) || e.To.Before(e.From) || e.To.After(ended.Add(time.Second)) {
		t.Errorf("the checkpoint lasted from %s to %s, and was asked for at %s", e.From, e.To, began)
	}
}

func FuzzEvents(f *testing.F) {
	f.Add([]byte(recorded))
	f.Add([]byte("2026-11-23 20:00:05.125 GMT [1] LOG:  checkpoint complete: total=99999999999999999999 s"))
	f.Fuzz(func(t *testing.T, log []byte) {
		for _, e := range events(log) {
			if e.Name != "checkpoint" {
				t.Errorf("%+v", e)
			}
		}
	})
}
