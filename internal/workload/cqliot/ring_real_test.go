package cqliot

import (
	"maps"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"plimsoll/internal/load"
	"plimsoll/internal/load/socket"
	"plimsoll/internal/measure"
	"plimsoll/internal/parameter"
	"plimsoll/internal/workload/cqliot/driver"
)

// A ring of two gets each row to the node that holds it, asks nobody else, and goes on
// where one of them leaves it.
func TestRealRing(t *testing.T) {
	if os.Getenv("PLIMSOLL_DEEP") == "" {
		t.Skip("set PLIMSOLL_REAL=1 PLIMSOLL_DEEP=1 to start a ring of Cassandra, which takes half a minute and 1.5 GB")
	}
	s := serve(t, parameter.Settings{"nodes": "2"})
	if len(s.at.More) != 1 {
		t.Fatalf("the ring is %v", s.at)
	}
	t.Run("routed", func(t *testing.T) { routed(t, s) })
	t.Run("left", func(t *testing.T) { left(t, s) })
}

// replicated is a load on so many replicas of each row, that waits for one of them.
func replicated(replicas string, more parameter.Settings) parameter.Settings {
	s := parameter.Settings{
		"rampup": "1000", "connections": "2", "in_flight": "4", "rate": "100/s", "tick": "2ms", "timeout": "2s",
		"write_consistency": "one", "read_consistency": "one", "replication": replicas,
	}
	maps.Copy(s, more)
	if s["rate"] == "" {
		delete(s, "rate") // as fast as it goes
	}
	return s
}

// counts are what each node coordinated of the table's operations, what it did itself, and
// the messages that it sent to other nodes.
func counts(t *testing.T, at load.Endpoint) (coordinated, did, sent []int64) {
	t.Helper()
	for _, address := range append([]string{at.Address}, at.More...) {
		one := at
		one.Address, one.More = address, nil
		sum := func(query string) (n int64) {
			for _, row := range ask(t, one, query) {
				v, err := strconv.ParseInt(row[0], 10, 64)
				if err != nil {
					t.Fatalf("%s: %v", query, err)
				}
				n += v
			}
			return n
		}
		ours := func(kind string) int64 {
			const of = " WHERE keyspace_name = '" + keyspace + "' AND table_name = 'iot'"
			return sum("SELECT count FROM system_views."+kind+"_read_latency"+of) + sum("SELECT count FROM system_views."+kind+"_write_latency"+of)
		}
		coordinated, did = append(coordinated, ours("coordinator")), append(did, ours("local"))
		sent = append(sent, sum("SELECT sent_count FROM system_views.internode_outbound"))
	}
	return coordinated, did, sent
}

// routed: with one replica, each node coordinates what it holds and asks nobody; where
// the ring is taken the wrong way round, each asks the other.
func routed(t *testing.T, s *server) {
	l, err := Kind(driver.Open).New(replicated("1", nil))
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Prepare(t.Context(), s.env); err != nil {
		t.Fatal(err)
	}
	for _, wrong := range []bool{false, true} {
		c, err := l.(*iot).begin(t.Context(), s.env)
		if err != nil {
			t.Fatal(err)
		}
		if wrong {
			slices.Reverse(c.chart.now().owners)
		}
		coordinated, did, sent := counts(t, s.at)
		out := measure.NewRecorder(nil)
		if err := socket.Run(t.Context(), c.job(load.Stage{Length: 2 * time.Second, Interval: time.Second, Seed: 1}), out); err != nil {
			t.Fatal(err)
		}
		done, failed := counted(out)
		afterwards, does, sends := counts(t, s.at)
		var by, here, messages []int64
		for n := range coordinated {
			by, here, messages = append(by, afterwards[n]-coordinated[n]), append(here, does[n]-did[n]), append(messages, sends[n]-sent[n])
		}
		t.Logf("wrong %t: %d done, %d failed; coordinated %v, did %v, sent %v; %d elsewhere", wrong, done, failed, by, here, messages, c.sum().elsewhere)
		all := total(messages)
		switch {
		case failed > 0 || done < 300 || by[0]+by[1] != done || min(by[0], by[1]) < done/4:
			t.Errorf("%d done, %d failed, coordinated %v", done, failed, by)
		case !wrong && (all > done/5 || max(here[0]-by[0], by[0]-here[0]) > 8): // what they tell each other of themselves, and the first of each connection
			t.Errorf("of %d operations, nodes sent %v to each other; they coordinated %v and did %v", done, messages, by, here)
		case wrong && all < done:
			t.Errorf("%d operations at the wrong node took only %v messages", done, messages)
		}
	}
}

// left: with a second replica a ring of two takes writes without one of them; with one
// replica what that one held cannot be had, and is counted. Nothing hangs.
func left(t *testing.T, s *server) {
	for _, replicas := range []string{"2", "1"} {
		var argv []string
		o := during(t, s.at, replicated(replicas, parameter.Settings{"read_ratio": "0"}), 8, func() { argv = s.kill(t, 1) })
		last := len(o.done) - 1
		if last < 0 || o.done[0] == 0 || total(o.failed) == 0 || replicas == "2" && o.done[last] == 0 || replicas == "1" && total(o.failed[2:]) == 0 {
			t.Errorf("%s replicas: %+v", replicas, o)
		}
		if replicas == "2" && o.err != nil || replicas == "1" && !oneLine(o.err, "") {
			t.Errorf("%s replicas: %v", replicas, o.err)
		}
		if replicas == "2" {
			s.start(t, 1, argv, "")
			both := s.at
			both.Address, both.More = s.at.More[0], nil
			await(t, both)
		}
	}
}
