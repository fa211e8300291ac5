package keyvalue

import (
	"context"
	"fmt"
	"math"
	"net"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/load"
	"plimsoll/internal/load/loadtest"
	"plimsoll/internal/measure"
	"plimsoll/internal/parameter"
	"plimsoll/internal/workload"
)

func TestRefused(t *testing.T) {
	for want, s := range map[string]parameter.Settings{
		"skew":                                  {"skew": "-1"},
		"rate and think are mutually exclusive": {"rate": "5/s", "think": "1ms"},
		"shape requires rate":                   {"shape": "ramp to 5 over 60s"},
		"shape:":                                {"rate": "5/s", "shape": "up"},
		`value "256" is not a size`:             {"value": "256"},
		"at least 1":                            {"keys": "0"},
		"one of redis, memcached":               {"protocol": "http"},
		"the maximum is 4194304 ":               {"connections": "1000", "pipeline": "5000"},
		`law: "normal" is not one of uniform`:   {"law": "normal"},
	} {
		if _, err := Kind().New(s); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %q", s, err, want)
		}
	}
}

// A search for the peak gives the rate later.
func TestArrivalsWithoutARate(t *testing.T) {
	for _, s := range []parameter.Settings{{"arrivals": "poisson", "tick": "1ms", "max_lag": "1s"}, {"arrivals": "poisson", "rate": "10/s", "shape": "sine 20% every 10s"}} {
		k := made(t, s).(*keyvalue)
		if err := k.offer.Arrivals.Validate(); err != nil || k.offer.Arrivals.Poisson != (s["rate"] != "") {
			t.Errorf("%v: %+v, %v", s, k.offer.Arrivals, err)
		}
	}
}

func TestDemand(t *testing.T) {
	d := made(t, parameter.Settings{"read": "75%", "value": "100B/50:300B/50", "connections": "3", "pipeline": "4", "rate": "90/s"}).Demand()
	if got, want := fmt.Sprintf("%+v", d), "{Concurrency:12 Rate:90 Think:0s Drawn:0 Classes:[{Name:read Share:0.75 Bytes:200} {Name:write Share:0.25 Bytes:200}] Ramps:false}"; got != want {
		t.Errorf("got %s", got)
	}
}

func TestMixAndBytes(t *testing.T) {
	s := responding(t, nil)
	for _, protocol := range []string{"redis", "memcached"} {
		settings := parameter.Settings{"protocol": protocol, "keys": "500", "read": "70%", "value": "100B", "connections": "4", "pipeline": "4", "law": "zipf"}
		prepare(t, s, settings)
		r := runFor(t, s, settings, 2000)
		n := float64(r.all.Operations)
		if n < 1000 || r.all.Errors > 0 || r.all.Bytes != 100*r.all.Operations {
			t.Errorf("%s: %+v", protocol, r.all)
		}
		if share := float64(r.sums["read"].Operations) / n; math.Abs(share-.7) > 5*math.Sqrt(.21/n) {
			t.Errorf("%.2f %% reads of %.0f", 100*share, n)
		}
		for name, state := range map[string]measure.State{"data": measure.Pass, "misses": measure.Pass} {
			if c := r.checks[name]; c.State != state {
				t.Errorf("check %s: %+v", name, c)
			}
		}
		if v := r.Values(); v["misses"] != 0 || v["wrong"] != 0 || v["client.cpu_per_operation"] <= 0 {
			t.Errorf("values %v", v)
		}
		for name, want := range map[string]string{"protocol": protocol, "connections": "4", "pipeline": "4", "read": "70%", "keys": "500", "value": "100B", "fill": "true"} {
			if got := r.Observed()["keyvalue."+name]; got != want {
				t.Errorf("%s is seen as %q, want %q", name, got, want)
			}
		}
	}
}

// What is not there is counted, and too much of it fails the trial.
func TestMisses(t *testing.T) {
	s := responding(t, nil)
	settings := parameter.Settings{"keys": "100000000", "fill": "false", "read": "50%"}
	prepare(t, s, parameter.Settings{"keys": "1", "fill": "false"})
	r := run(t, s, settings, loadtest.Short(200*time.Millisecond))
	if v := r.Values()["misses"]; v < .95 || r.all.Errors > 0 {
		t.Errorf("%.3f of the reads missed; %+v", v, r.all)
	}
	if c := r.checks["misses"]; c.State != measure.Fail || !strings.Contains(c.Detail, "at most 0 % may") {
		t.Errorf("check %+v", c)
	}
	settings["misses"] = "100%"
	if c := run(t, s, settings, loadtest.Short(100*time.Millisecond)).checks["misses"]; c.State != measure.Pass {
		t.Errorf("check %+v", c)
	}
}

// A store that answers with other data than was written is caught.
func TestWrongDataFails(t *testing.T) {
	s := responding(t, nil)
	settings := parameter.Settings{"keys": "20", "read": "100%", "value": "300B", "connections": "3"}
	prepare(t, s, settings)
	s.says(t, "redis", "SET plimsoll:0000000013 "+strings.Repeat("x", 300), "\r\n")
	settings["threads"] = "9" // each needs a connection
	r := run(t, s, settings, loadtest.Short(200*time.Millisecond))
	share := float64(r.all.Errors) / float64(r.all.Errors+r.all.Operations)
	if math.Abs(share-.05) > .03 || math.Abs(r.Values()["wrong"]-share) > .01 {
		t.Errorf("%.3f of the operations failed, %.3f of the reads were wrong", share, r.Values()["wrong"])
	}
	if c := r.checks["data"]; c.State != measure.Fail {
		t.Errorf("check %+v", c)
	}
}

// ended are the operations of a load, done and failed.
func ended(r *measure.Recorder) (good, bad int64) {
	for _, in := range r.Intervals() {
		for _, s := range in.Samples {
			good, bad = good+s.Operations, bad+s.Errors
		}
	}
	return good, bad
}

func TestFaultsAreCounted(t *testing.T) {
	for _, c := range []struct {
		fault string
		least float64 // of the operations that fail
	}{{"fail", .08}, {"garbage", .08}, {"reset", .08}, {"half_close", .05}} {
		for _, protocol := range []string{"redis", "memcached"} {
			s := responding(t, parameter.Settings{c.fault: "10%"})
			settings := parameter.Settings{"protocol": protocol, "keys": "1000", "fill": "false", "misses": "100%", "connections": "10", "timeout": "200ms"}
			k := made(t, settings)
			var good, bad int64
			out := measure.NewRecorder(func(r *measure.Recorder) bool {
				good, bad = ended(r)
				return good+bad >= 500
			})
			var err error
			for range 50 { // the first question may meet the fault
				err = k.Run(t.Context(), s.env(), load.Stage{Length: time.Minute, Interval: 10 * time.Millisecond, Seed: 2}, out)
				if err == nil {
					break
				}
			}
			if err != nil {
				t.Errorf("%s: %v", c.fault, err)
				continue
			}
			if share := float64(bad) / float64(good+bad); good == 0 || share < c.least || share > .4 {
				t.Errorf("%s %s: %d good, %d bad", protocol, c.fault, good, bad)
			}
			if out.Values()["wrong"] != 0 {
				t.Errorf("%s %s: %g of the reads are wrong", protocol, c.fault, out.Values()["wrong"])
			}
		}
	}
}

func TestStoreThatDies(t *testing.T) {
	s := responding(t, nil)
	settings := parameter.Settings{"keys": "100", "connections": "4", "timeout": "40ms"} // 20 times as long it waits for the store at the end
	prepare(t, s, settings)
	intervals := 0
	out := measure.NewRecorder(func(*measure.Recorder) bool {
		if intervals++; intervals == 2 {
			s.kill()
		}
		return false
	})
	start := time.Now()
	err := made(t, settings).Run(t.Context(), s.env(), load.Stage{Length: 200 * time.Millisecond, Interval: 50 * time.Millisecond, Seed: 2}, out)
	if took := time.Since(start); err != nil || took > 3*time.Second {
		t.Errorf("after %s: %v", took, err)
	}
	var bad int64
	for _, in := range out.Intervals() {
		for _, s := range in.Samples {
			bad += s.Errors
		}
	}
	if bad == 0 {
		t.Error("nothing failed")
	}
	if err := made(t, settings).Clean(t.Context(), s.env()); err != nil {
		t.Errorf("clean: %v", err)
	}
}

// Each lack is one line that says what can be done, before anything is touched.
func TestCheck(t *testing.T) {
	s := responding(t, nil)
	silent := answering(t, func(string) string { return "" })
	secret := answering(t, func(string) string { return "-NOAUTH Authentication required.\r\n" })
	web := answering(t, func(string) string { return "HTTP/1.1 400 Bad Request\r\n" })
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	closing, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer closing.Close()
	go func() {
		for {
			conn, err := closing.Accept()
			if err != nil {
				return
			}
			conn.Close()
		}
	}()
	at := func(address string) store { return store{at: map[string]string{"redis": address}} }
	for _, c := range []struct {
		name     string
		store    store
		settings parameter.Settings
		want     string
	}{
		{"well", s, nil, ""},
		{"gone", at(l.Addr().String()), nil, "nothing listens there: start the service"},
		{"no such name", at("no-such-host.invalid:6379"), nil, "does not resolve"},
		{"another protocol", at(s.at["memcached"]), nil, "does not speak redis"},
		{"web server", web, nil, "does not speak redis"},
		{"connection closed by the reflector", at(closing.Addr().String()), nil, "does it speak redis"},
		{"password", secret, nil, "refused the connection: NOAUTH"},
		{"protocol of another service", at(s.at["redis"]), parameter.Settings{"protocol": "memcached"}, "find a store that speaks memcached: the service does not"},
	} {
		needs, err := made(t, c.settings).Check(t.Context(), c.store.env())
		if c.want == "" {
			if err != nil || needs.Time <= 0 || len(needs.Changes) != 1 {
				t.Errorf("%s: %+v, %v", c.name, needs, err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := made(t, nil).Check(ctx, silent.env()); err == nil || !strings.Contains(err.Error(), "deadline exceeded") {
		t.Errorf("a silent store: %v", err)
	}
	if err := made(t, nil).Run(t.Context(), workload.Env{}, load.Stage{Length: time.Second, Interval: time.Second}, measure.NewRecorder(nil)); err == nil || !strings.Contains(err.Error(), "add a service") {
		t.Errorf("without a service: %v", err)
	}
}

// The same seeds make the same operations, and other seeds others.
func TestOperationsFollowFromTheSeeds(t *testing.T) {
	said := func(seed, stage uint64, number int) string {
		k := made(t, parameter.Settings{"law": "zipf", "value": "50B"}).(*keyvalue)
		job, err := k.job(load.Endpoint{}, seed, load.Stage{Seed: stage}, &ledger{versions: newVersions(k.Keys, mostTracked, true, 7)})
		if err != nil {
			t.Fatal(err)
		}
		d := job.Dialogue(number)
		var wire []byte
		for range 20 {
			wire, _ = d.Request(wire, 0)
		}
		return string(wire)
	}
	first, again := said(1, 2, 3), said(1, 2, 3)
	if first != again {
		t.Error("the same seeds say something else")
	}
	for _, other := range []string{said(9, 2, 3), said(1, 9, 3), said(1, 2, 9)} {
		if other == said(1, 2, 3) {
			t.Error("other seeds say the same")
		}
	}
}

// A load that did not do what was asked is seen to have done something else.
func TestReadShareIsSeen(t *testing.T) {
	k := made(t, parameter.Settings{"read": "50%"}).(*keyvalue)
	for _, c := range []struct {
		reads, writes int64
		want          string
	}{{510, 490, "50%"}, {0, 0, "50%"}, {800, 200, "80%"}} {
		out := measure.NewRecorder(nil)
		out.Interval(measure.Interval{To: time.Second, Samples: []measure.Sample{{Class: "read", Operations: c.reads}, {Class: "write", Operations: c.writes}}})
		if got := k.mixed(out).String(); got != c.want {
			t.Errorf("%d reads and %d writes are %s, want %s", c.reads, c.writes, got, c.want)
		}
	}
}
