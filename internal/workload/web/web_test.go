package web

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/load"
	"plimsoll/internal/measure"
	"plimsoll/internal/parameter"
	"plimsoll/internal/workload"
	"plimsoll/internal/workload/workloadtest"
)

// site is a web server with one page of three files.
func site(t *testing.T, change func(http.ResponseWriter, *http.Request) bool) workload.Env {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case change != nil && change(w, r):
		case r.URL.Path == manifest:
			fmt.Fprint(w, "/0/page.html:100 /0/1.jpg:50 /0/2.jpg:50\n")
		case strings.HasPrefix(r.URL.Path, "/0/"):
			size := 50
			if strings.HasSuffix(r.URL.Path, "html") {
				size = 100
			}
			_, _ = w.Write(make([]byte, size))
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(s.Close)
	return workload.Env{Target: func(string) (load.Endpoint, error) {
		return load.Endpoint{Network: "tcp", Address: s.Listener.Addr().String()}, nil
	}}
}

func TestContract(t *testing.T) {
	workloadtest.Run(t, Kind(), workloadtest.Options{
		Settings: []parameter.Settings{
			{"connections": "4"},
			{"unit": "page", "connections": "4"},
			{"keepalive": "false", "connections": "4", "rate": "300/s", "arrivals": "poisson"},
		},
		Env:    func(t *testing.T) workload.Env { return site(t, nil) },
		Length: 400 * time.Millisecond,
	})
}

func run(t *testing.T, env workload.Env, s parameter.Settings) (*measure.Recorder, measure.Sample) {
	t.Helper()
	l, err := Kind().New(s)
	if err != nil {
		t.Fatal(err)
	}
	out := measure.NewRecorder(nil)
	if err := l.Run(t.Context(), env, load.Stage{Length: 300 * time.Millisecond, Interval: 100 * time.Millisecond, Seed: 1}, out); err != nil {
		t.Fatal(err)
	}
	var sum measure.Sample
	for _, in := range out.Intervals() {
		for _, one := range in.Samples {
			sum.Operations += one.Operations
			sum.Errors += one.Errors
			sum.Bytes += one.Bytes
		}
	}
	return out, sum
}

func TestBytesOfObjectsAndPages(t *testing.T) {
	env := site(t, nil)
	if _, sum := run(t, env, parameter.Settings{"unit": "page", "connections": "2"}); sum.Operations < 20 || sum.Bytes != 200*sum.Operations || sum.Errors != 0 {
		t.Errorf("pages: %+v", sum)
	}
	if _, sum := run(t, env, parameter.Settings{"pages": parameter.List([]string{"/0/page.html"}), "connections": "2", "pipeline": "4"}); sum.Operations < 50 || sum.Bytes != 100*sum.Operations || sum.Errors != 0 {
		t.Errorf("objects: %+v", sum)
	}
}

func TestWhatTheServerRefusesFails(t *testing.T) {
	n := 0
	env := site(t, func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path == manifest {
			return false
		}
		if n++; n%4 == 0 {
			http.Error(w, "no", http.StatusServiceUnavailable)
			return true
		}
		return false
	})
	out, sum := run(t, env, parameter.Settings{"connections": "1"})
	if share := float64(sum.Errors) / float64(sum.Operations+sum.Errors); share < .2 || share > .3 {
		t.Errorf("a quarter is refused, %.3g failed", share)
	}
	if v := out.Values(); v["status.5xx"] < .2 || v["status.5xx"] > .3 || v["status.2xx"]+v["status.5xx"] != 1 {
		t.Errorf("values %v", v)
	}
}

// A server that closes connections politely is no server that fails.
func TestConnectionsThatTheServerCloses(t *testing.T) {
	n := 0
	env := site(t, func(w http.ResponseWriter, r *http.Request) bool {
		if n++; n%10 == 0 {
			w.Header().Set("Connection", "close")
		}
		return false
	})
	if _, sum := run(t, env, parameter.Settings{"connections": "1"}); sum.Operations < 50 || sum.Errors > 0 {
		t.Errorf("%+v", sum)
	}
}

func TestCheckSaysWhatIsMissing(t *testing.T) {
	nothing := func(w http.ResponseWriter, r *http.Request) bool { http.NotFound(w, r); return true }
	for want, c := range map[string]struct {
		env      workload.Env
		settings parameter.Settings
	}{
		"name its pages with web.pages":                                         {site(t, nothing), nil},
		"for /gone: it answers with status 404, which web.expect does not name": {site(t, nil), parameter.Settings{"pages": parameter.List([]string{"/gone"})}},
		"find a web server":                                                     {workload.Env{Target: func(string) (load.Endpoint, error) { return load.Endpoint{}, fmt.Errorf("none") }}, nil},
		"connection refused": {workload.Env{Target: func(string) (load.Endpoint, error) {
			return load.Endpoint{Network: "tcp", Address: "127.0.0.1:1"}, nil
		}}, nil},
	} {
		l, err := Kind().New(c.settings)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := l.Check(t.Context(), c.env); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

func TestRefused(t *testing.T) {
	for _, s := range []parameter.Settings{
		{"rate": "5/s", "think": "1ms"}, {"shape": "ramp to 2 over 5s"}, {"keepalive": "false", "pipeline": "2"},
		{"threads": "2", "connections": "1"}, {"pages": parameter.List([]string{"/a b"})}, {"pages": parameter.List([]string{"index.html"})}, {"rate": "5/s", "shape": "up"}, {"unit": "site"}, {"connections": "0"}, {"method": "POST"},
		{"headers": parameter.List([]string{"Host"})}, {"headers": parameter.List([]string{"A: b\r\nC: d"})}, {"headers": parameter.List([]string{"connection: close"})},
		{"expect": "[]"}, {"expect": parameter.List([]string{"2"})}, {"expect": parameter.List([]string{"6xx"})}, {"expect": parameter.List([]string{"100"})}, {"expect": parameter.List([]string{"ok"})}, {"expect": parameter.List([]string{"20x"})},
	} {
		if _, err := Kind().New(s); err == nil {
			t.Errorf("%v passed", s)
		}
	}
}
