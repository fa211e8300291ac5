package redis

import (
	"bytes"
	"os"
	"slices"
	"testing"
	"time"

	"plimsoll/internal/parameter"
	"plimsoll/internal/platform"
	"plimsoll/internal/service"
)

// recorded is the log of Redis 7.0 that begins in a snapshot, and of a second server, whose rewrite fails and whose next one goes on.
const recorded = `9454:M 24 Nov 2026 01:55:14.000 * Background saving terminated with success
9454:M 24 Nov 2026 01:55:16.942 * Background saving started by pid 9461
9461:C 24 Nov 2026 01:55:16.943 * DB saved on disk
9454:M 24 Nov 2026 01:55:17.000 * Background append only file rewriting started by pid 9465
server 2 of 2:
70:M 24 Nov 2026 01:55:17.500 * Background append only file rewriting started by pid 71
9454:M 24 Nov 2026 01:55:18.942 * Background saving terminated with success
70:M 24 Nov 2026 01:55:19.500 # Background AOF rewrite terminated by signal 9
9454:M 24 Nov 2026 01:55:20.000 * Background AOF rewrite terminated with success
9454:M 24 Nov 2026 01:55:20.000 * Background AOF rewrite finished successfully
70:M 24 Nov 2026 01:55:21.500 * Background append only file rewriting started by pid 72
`

func TestChildrenOfALog(t *testing.T) {
	at := func(milliseconds int) time.Time {
		return time.Date(2026, 11, 24, 1, 55, 0, milliseconds*1e6, time.UTC)
	}
	want := []service.Event{
		{From: at(16942), To: at(18942), Name: "snapshot"},
		{From: at(17000), To: at(20000), Name: "AOF rewrite"},
		{From: at(17500), To: at(19500), Name: "AOF rewrite"},
		{From: at(21500), Name: "AOF rewrite"}, // it goes on
	}
	if got := events([]byte(recorded)); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if got := events(nil); got != nil {
		t.Errorf("of an empty log: %v", got)
	}
}

// A real server logs its snapshots in UTC, wherever its machine is.
func TestRealSnapshotIsAnEvent(t *testing.T) {
	if os.Getenv("PLIMSOLL_REAL") == "" {
		t.Skip("set PLIMSOLL_REAL=1 to start the real redis-server")
	}
	t.Setenv("TZ", "Asia/Kathmandu")
	s, err := Kind().New(parameter.Settings{"appendonly": "true"})
	if err != nil {
		t.Fatal(err)
	}
	m := here(t)
	i, err := s.Start(t.Context(), service.Env{Machine: m, Dir: t.TempDir() + "/instance", Log: t.Logf})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := i.Stop(t.Context()); err != nil {
			t.Error(err)
		}
	}()
	at, err := i.Endpoint("redis")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := bytes.Cut([]byte(at.Address), []byte(":"))
	began := time.Now().Truncate(time.Millisecond) // as precise as the log
	var log []byte
	for _, order := range []string{"BGSAVE", "BGREWRITEAOF"} {
		r, err := m.Run(t.Context(), platform.Command{Argv: []string{"redis-cli", "-p", string(port), order}})
		if err != nil || r.Exit != 0 {
			t.Fatalf("%s: %v, %s", order, err, r.Stderr)
		}
		for ended := func() int {
			return len(slices.DeleteFunc(events(log), func(e service.Event) bool { return e.To.IsZero() }))
		}; ended() < map[string]int{"BGSAVE": 1, "BGREWRITEAOF": 2}[order]; {
			if log = append(log, i.(service.Logging).Logged(t.Context())...); time.Since(began) > time.Minute {
				t.Fatalf("the log is %q", log)
			}
		}
	}
	for n, e := range events(log) {
		if e.From.Before(began) || e.To.Before(e.From) || e.To.After(time.Now().Add(time.Second)) || e.Name != []string{"snapshot", "AOF rewrite"}[n] {
			t.Errorf("%+v, asked for at %s", e, began)
		}
	}
}

func FuzzEvents(f *testing.F) {
	f.Add([]byte(recorded))
	f.Add([]byte("1:M 99 Nov 2026 01:55:16.942 * Background saving started by pid 1\n1:M 24 Nov 2026 01:55:16.942 * Background saving error"))
	f.Fuzz(func(t *testing.T, log []byte) {
		for _, e := range events(log) {
			if e.Name != "snapshot" && e.Name != "AOF rewrite" || e.From.IsZero() {
				t.Errorf("%+v", e)
			}
		}
	})
}
