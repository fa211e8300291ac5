package web

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/load"
	"plimsoll/internal/measure"
	"plimsoll/internal/parameter"
	"plimsoll/internal/platforms/local"
	"plimsoll/internal/service"
	"plimsoll/internal/service/nginx"
	"plimsoll/internal/workload"
)

// started is an nginx of this test, with the environment of a load on it.
func started(t *testing.T, settings parameter.Settings) (service.Instance, workload.Env) {
	t.Helper()
	if os.Getenv("PLIMSOLL_REAL") == "" {
		t.Skip("set PLIMSOLL_REAL=1 to test with nginx")
	}
	p, err := local.Kind().Open(t.Context(), nil, 1)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	s, err := nginx.Kind().New(settings)
	if err != nil {
		t.Fatal(err)
	}
	i, err := s.Start(t.Context(), service.Env{Machine: p.Machine(), Dir: filepath.Join(t.TempDir(), "nginx"), Log: t.Logf})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := i.Stop(t.Context()); err != nil {
			t.Error(err)
		}
	})
	return i, workload.Env{Target: i.Endpoint}
}

// carried prepares a load and runs it until so many operations are done.
func carried(t *testing.T, env workload.Env, s parameter.Settings, operations int64) ran {
	t.Helper()
	l := made(t, s)
	if err := l.Prepare(t.Context(), env); err != nil {
		t.Fatalf("%v: %v", s, err)
	}
	out := measure.NewRecorder(func(r *measure.Recorder) bool { return summed(r).Operations >= operations })
	if err := l.Run(t.Context(), env, load.Stage{Length: time.Minute, Interval: 50 * time.Millisecond, Seed: 1}, out); err != nil {
		t.Fatalf("%v: %v", s, err)
	}
	r := ran{out, summed(out)}
	t.Logf("%v: %d operations, %d failed, %.3g s of client CPU each", s, r.Operations, r.Errors, r.Values()["client.cpu_per_operation"])
	return r
}

func TestRealWays(t *testing.T) {
	for _, w := range ways {
		server := parameter.Settings{"pages": "3"}
		if w.encrypted {
			server["tls"] = "true"
		}
		if w.version == "2" {
			server["http2"] = "true"
		}
		_, env := started(t, server)
		for _, s := range []parameter.Settings{
			{"unit": "page", "connections": "8"},
			{"unit": "page", "connections": "2", "pipeline": "4", "rate": "200/s", "arrivals": "poisson"},
			{"connections": "8", "threads": "2"},
			{"connections": "4", "unit": "page", "keepalive": "false"},
		} {
			s = w.with(s)
			r := carried(t, env, s, 100)
			if r.Errors > 0 || r.Operations < 100 || s["unit"] == "page" && r.Bytes != r.Operations*(100<<10) {
				t.Errorf("%v: %+v; %v", s, r.Sample, r.Checks())
			}
			if v := r.Values(); v["status.2xx"] != 1 {
				t.Errorf("%v: %v", s, v)
			}
		}
	}
}

// nginx closes a connection after as many requests as it allows: a page must not lie
// across that.
func TestRealPagesAreNotCutShort(t *testing.T) {
	_, env := started(t, parameter.Settings{"page_size": "2KiB"})
	s := parameter.Settings{"unit": "page", "connections": "2"}
	if r := carried(t, env, s, 1000); r.Errors > 0 || r.Operations < 300 {
		t.Errorf("%v: %+v; %v", s, r.Sample, r.Checks())
	}
	s["reuse"] = "0"
	if r := carried(t, env, s, 2000); r.Errors < 4 || r.Errors > r.Operations/100 {
		t.Errorf("%v: a page of each 167 should be cut short: %+v", s, r.Sample)
	}
	_, env = started(t, parameter.Settings{"page_size": "2KiB", "http2": "true", "keepalive_requests": "100"})
	s = parameter.Settings{"unit": "page", "connections": "2", "version": "2", "reuse": "0", "pipeline": "3"}
	if r := carried(t, env, s, 1000); r.Errors > 0 || r.Operations < 200 {
		t.Errorf("%v: %+v; %v", s, r.Sample, r.Checks())
	}
}

func TestRealHeadsAndMissingPages(t *testing.T) {
	i, env := started(t, nil)
	before, err := i.Counters(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if r := carried(t, env, parameter.Settings{"method": "HEAD", "connections": "2"}, 1000); r.Errors > 0 || r.Bytes != 0 || r.Operations < 300 {
		t.Errorf("%+v; %v", r.Sample, r.Checks())
	}
	gone := parameter.Settings{"pages": parameter.List([]string{"/gone"}), "connections": "2"}
	if err := made(t, gone).Prepare(t.Context(), env); err == nil || !strings.Contains(err.Error(), "status 404") {
		t.Errorf("got %v", err)
	}
	expected := maps.Clone(gone)
	expected["expect"] = parameter.List([]string{"404"})
	r := carried(t, env, expected, 1000)
	if r.Errors > 0 || r.Values()["status.4xx"] != 1 {
		t.Errorf("%+v %v", r.Sample, r.Values())
	}
	after, err := i.Counters(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if n := after["nginx.requests"] - before["nginx.requests"]; n < float64(r.Operations) {
		t.Errorf("nginx counts %g requests, we %d", n, r.Operations)
	}
}
