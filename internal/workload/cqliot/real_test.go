package cqliot

import (
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/cql"
	"plimsoll/internal/effort"
	"plimsoll/internal/load"
	"plimsoll/internal/measure"
	"plimsoll/internal/parameter"
	"plimsoll/internal/workload"
	"plimsoll/internal/workload/cqliot/driver"
	"plimsoll/internal/workload/workloadtest"
)

// trialRun runs a trial and is what it recorded.
func trial(t *testing.T, env workload.Env, settings parameter.Settings, length time.Duration) *measure.Recorder {
	t.Helper()
	return eventful(t, env, settings, length, func() {})
}

// eventful is a trial in the middle of which something happens.
func eventful(t *testing.T, env workload.Env, settings parameter.Settings, length time.Duration, event func()) *measure.Recorder {
	t.Helper()
	l, err := Kind(driver.Open).New(settings)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Prepare(t.Context(), env); err != nil {
		t.Fatal(err)
	}
	out := measure.NewRecorder(func(r *measure.Recorder) bool {
		if len(r.Intervals()) == 2 {
			event()
		}
		return false
	})
	if err := l.Run(t.Context(), env, load.Stage{Length: length, Interval: length / 4, Seed: 1}, out); err != nil {
		t.Fatal(err)
	}
	return out
}

func counted(out *measure.Recorder) (done, failed int64) {
	for _, in := range out.Intervals() {
		for _, s := range in.Samples {
			done += s.Operations
			failed += s.Errors
		}
	}
	return done, failed
}

func passes(t *testing.T, out *measure.Recorder, name string) bool {
	t.Helper()
	for _, c := range out.Checks() {
		if c.Name == name {
			t.Logf("%s: %s %s", name, c.State, c.Detail)
			return c.State == measure.Pass
		}
	}
	t.Errorf("there is no check %s", name)
	return false
}

// One server is used as it should be, and then everything happens to it.
func TestReal(t *testing.T) {
	s := serve(t, parameter.Settings{"commitlog_sync": "group"})
	t.Run("contract", func(t *testing.T) { contract(t, s.env) })
	t.Run("paused", func(t *testing.T) { paused(t, s) })
	t.Run("killed", func(t *testing.T) { killed(t, s) })
	t.Run("schema dropped", func(t *testing.T) { schemaDropped(t, s) })
	t.Run("guarded", func(t *testing.T) {
		plain, secure := guarded(t, s)
		t.Run("let in", func(t *testing.T) { letIn(t, plain, secure) })
		t.Run("crowded", func(t *testing.T) { crowded(t, plain) })
		t.Run("stopped", func(t *testing.T) { stopped(t, s, plain) })
		t.Run("full", func(t *testing.T) {
			effort.Deep(t, "fill the disk of the server")
			full(t, s, plain)
		})
	})
}

// contract: the contract, both versions of the protocol, both drivers; and what is lost or
// not found is noticed.
func contract(t *testing.T, env workload.Env) {
	workloadtest.Run(t, Kind(driver.Open), workloadtest.Options{
		Settings: []parameter.Settings{{"rampup": "2000"}, {"mode": "faithful", "rampup": "2000", "rate": "300/s", "tick": "1ms", "protocol": "4", "threads": "2"}},
		Env:      func(*testing.T) workload.Env { return env },
		Length:   800 * time.Millisecond,
	})
	for _, driver := range []string{"own", "gocql"} {
		out := trial(t, env, parameter.Settings{"rampup": "2000", "driver": driver, "write_consistency": "one"}, time.Second)
		done, failed := counted(out)
		t.Logf("%s: %d done, %v", driver, done, out.Values())
		if done < 300 || failed > 0 || !passes(t, out, "found") || !passes(t, out, "data") {
			t.Errorf("%s: %d done, %d failed", driver, done, failed)
		}
	}
	// Without a ramp-up the published workload reads nothing, and says nothing of it.
	out := trial(t, env, parameter.Settings{"mode": "faithful", "rampup": "0"}, 500*time.Millisecond)
	if done, failed := counted(out); done < 100 || failed > 0 || out.Values()["found"] > 0.5 || passes(t, out, "found") || !passes(t, out, "data") {
		t.Errorf("%d done, %d failed, %v", done, failed, out.Values())
	}
	verifies(t, env)
}

// verifies takes away a row and changes another, which the check of the data notices;
// the server computes the same tokens.
func verifies(t *testing.T, env workload.Env) {
	at, err := env.Target(protocol)
	if err != nil {
		t.Fatal(err)
	}
	place, err := cql.At(at, cql.V4)
	if err != nil {
		t.Fatal(err)
	}
	c, err := cql.Dial(t.Context(), place)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	l, _ := Kind(driver.Open).New(parameter.Settings{"mode": "faithful", "rampup": "0"})
	one, err := l.(*iot).begin(t.Context(), env)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := c.Query(t.Context(), "SELECT machine_id, sensor_name, token(machine_id, sensor_name) FROM "+keyspace+".iot LIMIT 50")
	if err != nil || len(rows) != 50 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	known := map[string]string{}
	for _, row := range rows {
		known[strings.ReplaceAll(row[0], "-", "")+row[1]] = row[2]
	}
	matched := 0
	for cycle := range int64(20_000) {
		k := one.readings.key(cycle)
		if want, ok := known[hexed(k.machine[:])+k.sensor]; ok {
			matched++
			if got := k.token(nil); want != decimal(got) {
				t.Errorf("the token of cycle %d is %d, the server says %s", cycle, got, want)
			}
		}
	}
	if matched < 10 {
		t.Errorf("%d rows of the server are known", matched)
	}
	if wrong, _, err := one.verify(t.Context(), []int64{1, 2, 3}); wrong != 0 || err != nil {
		t.Fatalf("%d rows are wrong, %v", wrong, err)
	}
	id := one.readings.key(2).machine
	for _, text := range []string{
		"DELETE FROM " + keyspace + ".iot WHERE machine_id = 0x AND sensor_name = ''",
		"UPDATE " + keyspace + ".iot USING TIMESTAMP 1 SET sensor_value = 1 WHERE machine_id = " + dashed(id[:]) + " AND sensor_name = '" + one.readings.key(2).sensor + "' AND time = 0",
	} {
		_, _ = c.Query(t.Context(), text) // the first is refused: it shows that a fault ends no session
	}
	if wrong, why, err := one.verify(t.Context(), []int64{1, 2, 3, 1 << 40}); wrong != 2 || err != nil {
		t.Errorf("%d rows are wrong (%s), %v", wrong, why, err)
	}
}

func hexed(b []byte) string { return hex.EncodeToString(b) }

func dashed(b []byte) string {
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

func decimal(n int64) string { return strconv.FormatInt(n, 10) }
