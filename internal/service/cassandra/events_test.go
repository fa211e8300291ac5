package cassandra

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"plimsoll/internal/service"
)

const recorded = `2026-11-23 20:00:01.000 Compacted (0e3fa1c0-c8a7-11f0-8f5e-1d4c6b8a9f00) 4 sstables to [/d/0/data/data/system/local-7ad5/nb-5-big,] to level=0.  0.3
an error of a node that says Compacting (0e3fa1c0-c8a7-11f0-8f5e-1d4c6b8a9f00)
2026-11-23 20:00:02.000 Compacting (1e3fa1c0-c8a7-11f0-8f5e-1d4c6b8a9f00) [/d/0/data/data/iot/iot-4b0c/nb-1-big-Data.db:level=0, /d/0/data/data/iot/iot-4b0c/nb-2-bi
2026-11-23 20:00:02.250 Compacting (2e3fa1c0-c8a7-11f0-8f5e-1d4c6b8a9f00) [/d/1/data/data/iot/iot-4b0c/nb-1-big-Data.db:level=0,
2026-11-23 20:00:05.500 Compacted (1e3fa1c0-c8a7-11f0-8f5e-1d4c6b8a9f00) 4 sstables to [/d/0/data/data/iot/iot-4b0c/nb-5-big,] to level=0.  61.250MiB to 60.1
`

func TestCompactionsOfADiary(t *testing.T) {
	at := func(seconds float64) time.Time {
		return time.Date(2026, 11, 23, 20, 0, 0, 0, time.UTC).Add(time.Duration(seconds * float64(time.Second)))
	}
	want := []service.Event{
		{From: at(2), To: at(5.5), Name: "compaction"},
		{From: at(2.25), Name: "compaction"}, // it goes on
	}
	if got := events([]byte(recorded)); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// The compactions of a real node are read, on the clock of its machine.
func TestRealCompactionsAreEvents(t *testing.T) {
	m := here(t)
	i := start(t, m, small(nil))
	at, err := i.Endpoint(protocol)
	if err != nil {
		t.Fatal(err)
	}
	c := newClient(m, at)
	ask := func(text string) {
		t.Helper()
		if _, err := c.Ask(t.Context(), text); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
	}
	began := time.Now().Truncate(time.Millisecond)
	i.(service.Logging).Logged(t.Context())
	ask("CREATE KEYSPACE k WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}")
	ask("CREATE TABLE k.t (id int PRIMARY KEY, v text) WITH memtable_flush_period_in_ms = 200 AND compaction = {'class': 'SizeTieredCompactionStrategy', 'min_threshold': 2}")
	var log []byte
	ended := func(e service.Event) bool { return !e.To.IsZero() }
	for n := 0; !slices.ContainsFunc(events(log), ended); n++ {
		ask(fmt.Sprintf("INSERT INTO k.t (id, v) VALUES (%d, 'v')", n%10))
		if log = append(log, i.(service.Logging).Logged(t.Context())...); time.Since(began) > 2*time.Minute {
			t.Fatalf("no compaction: the log is %q", log)
		}
	}
	e := events(log)[slices.IndexFunc(events(log), ended)]
	if e.From.Before(began) || e.To.Before(e.From) || e.To.After(time.Now()) {
		t.Errorf("the compaction lasted from %s to %s, and cannot have begun before %s", e.From, e.To, began)
	}
}

func FuzzEvents(f *testing.F) {
	f.Add([]byte(recorded))
	f.Fuzz(func(t *testing.T, log []byte) {
		for _, e := range events(log) {
			if e.Name != "compaction" {
				t.Errorf("%+v", e)
			}
		}
	})
}
