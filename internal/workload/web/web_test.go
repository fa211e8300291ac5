package web

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"plimsoll/internal/effort"
	"plimsoll/internal/load"
	"plimsoll/internal/load/loadtest"
	"plimsoll/internal/measure"
	"plimsoll/internal/parameter"
	"plimsoll/internal/workload"
	"plimsoll/internal/workload/workloadtest"
)

func TestMain(m *testing.M) {
	loadtest.Parallel(8)
	effort.CollectSeldom()
	os.Exit(m.Run())
}

func TestContract(t *testing.T) {
	// An operation takes so long that what a user needs to begin the next, on a busy
	// machine, is little of it: the suite wants Little's law to hold.
	slow := func(_ http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path != manifest {
			<-time.After(5 * time.Millisecond)
		}
		return false
	}
	plain, encrypted := served(t, false, slow), served(t, true, slow)
	for _, c := range []struct {
		site     *site
		settings []parameter.Settings
	}{
		{plain, []parameter.Settings{
			{"connections": "4"},
			{"unit": "page", "connections": "4", "pipeline": "2"},
			{"keepalive": "false", "connections": "4", "rate": "300/s", "arrivals": "poisson"},
			{"version": "2", "connections": "2", "pipeline": "2"},
		}},
		{encrypted, []parameter.Settings{
			{"unit": "page", "connections": "4"},
			{"version": "2", "unit": "page", "connections": "4", "rate": "300/s"},
		}},
	} {
		workloadtest.Run(t, Kind(), workloadtest.Options{
			Settings: c.settings,
			Env:      func(*testing.T) workload.Env { return c.site.env() },
			Length:   loadtest.Short(300 * time.Millisecond),
		})
	}
}

func TestBytesOfObjectsAndPages(t *testing.T) {
	for _, w := range ways {
		s := served(t, w.encrypted, nil)
		if r := run(t, s.env(), w.with(parameter.Settings{"unit": "page", "connections": "2", "pipeline": "2"}), enough, 0); r.Bytes != 200*r.Operations || r.Errors != 0 {
			t.Errorf("%v, pages: %+v %v", w, r.Sample, r.Checks())
		}
		one := parameter.Settings{"pages": parameter.List([]string{"/0/page.html"}), "connections": "2", "pipeline": "4"}
		if r := run(t, s.env(), w.with(one), enough, 0); r.Bytes != 100*r.Operations || r.Errors != 0 {
			t.Errorf("%v, objects: %+v %v", w, r.Sample, r.Checks())
		}
		one["method"] = "HEAD"
		if r := run(t, s.env(), w.with(one), enough, 0); r.Bytes != 0 || r.Errors != 0 {
			t.Errorf("%v, heads: %+v %v", w, r.Sample, r.Checks())
		}
		first, second := s.first.Load(), s.second.Load()
		if w.version == "2" && first > 0 || w.version != "2" && second > 0 {
			t.Errorf("%v: %d requests over HTTP/1.1, %d over HTTP/2", w, first, second)
		}
	}
}

func TestHeadersAreSent(t *testing.T) {
	for _, w := range ways {
		var wrong atomic.Int64
		s := served(t, w.encrypted, func(_ http.ResponseWriter, r *http.Request) bool {
			if r.URL.Path != manifest && (r.Host != "www.example.org" || r.Header.Get("Accept") != "text/html" || r.UserAgent() != "plimsoll" || r.Header.Get("Accept-Encoding") != "") {
				wrong.Add(1)
			}
			return false
		})
		r := run(t, s.env(), w.with(parameter.Settings{"headers": parameter.List([]string{"Host: www.example.org", "Accept: text/html"}), "connections": "1"}), enough, 0)
		if wrong.Load() > 0 {
			t.Errorf("%v: %+v, %d requests with another header", w, r.Sample, wrong.Load())
		}
	}
}

func TestConnectionsAreUsedAsTheStudySays(t *testing.T) {
	for _, w := range ways {
		for _, c := range []struct {
			settings parameter.Settings
			requests int64 // on a connection; 0 for as many as there are
		}{
			{parameter.Settings{"connections": "3", "pipeline": "4", "reuse": "0"}, 0},
			{parameter.Settings{"connections": "2", "unit": "page", "reuse": "7"}, 6}, // two pages
			{parameter.Settings{"connections": "2", "unit": "page", "keepalive": "false"}, 3},
		} {
			s := served(t, w.encrypted, nil)
			r := run(t, s.env(), w.with(c.settings), few, 0)
			s.Close()
			least, most := int64(3), int64(3)
			if c.requests > 0 {
				least = (s.first.Load() + s.second.Load() - 1) / c.requests
				most = least + 4 // the last ones have done less
			}
			if got := s.connections.Load() - 1; got < least || got > most || r.Errors > 0 { // without that for the manifest
				t.Errorf("%v %v: %d connections, not %d to %d; %+v", w, c.settings, got, least, most, r.Sample)
			}
		}
	}
}

func TestWhatTheServerRefusesFails(t *testing.T) {
	for _, w := range ways {
		var n atomic.Int64
		s := served(t, w.encrypted, func(rw http.ResponseWriter, r *http.Request) bool {
			if r.URL.Path == manifest || n.Add(1)%4 > 0 {
				return false
			}
			http.Error(rw, "no", http.StatusServiceUnavailable)
			return true
		})
		r := run(t, s.env(), w.with(parameter.Settings{"connections": "1"}), enough, enough/4)
		if share := float64(r.Errors) / float64(r.Operations+r.Errors); share < .2 || share > .3 {
			t.Errorf("%v: a quarter is refused, %.3g failed", w, share)
		}
		if v := r.Values(); v["status.5xx"] < .2 || v["status.5xx"] > .3 || v["status.2xx"]+v["status.5xx"] != 1 {
			t.Errorf("%v: values %v", w, v)
		}
	}
}

// A server that closes connections politely is no server that fails.
func TestConnectionsThatTheServerCloses(t *testing.T) {
	for _, w := range ways {
		var n atomic.Int64
		s := served(t, w.encrypted, func(rw http.ResponseWriter, _ *http.Request) bool {
			if n.Add(1)%10 == 0 {
				rw.Header().Set("Connection", "close") // HTTP/2 has GOAWAY for it
			}
			return false
		})
		if r := run(t, s.env(), w.with(parameter.Settings{"connections": "1"}), enough, 0); r.Errors > 0 || s.connections.Load() < 3 {
			t.Errorf("%v: %+v over %d connections; %v", w, r.Sample, s.connections.Load(), r.Checks())
		}
	}
}

// A page whose server leaves in the middle fails over HTTP/1.1, and the record says
// why. Over HTTP/2 the server says which requests it has not processed.
func TestPagesThatTheServerCutsShort(t *testing.T) {
	s := served(t, false, func(rw http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path == "/0/1.jpg" {
			rw.Header().Set("Connection", "close")
		}
		return false
	})
	r := run(t, s.env(), parameter.Settings{"unit": "page", "connections": "1"}, 0, 10)
	if r.Operations > 0 {
		t.Errorf("%+v", r.Sample)
	}
	said := ""
	for _, c := range r.Checks() {
		if c.Name == "pages" {
			said = c.Detail
		}
	}
	if !strings.Contains(said, "set web.reuse to no more requests than it allows") {
		t.Errorf("checks %v", r.Checks())
	}
	if r := run(t, s.env(), parameter.Settings{"unit": "page", "connections": "2", "version": "2"}, enough, 0); r.Errors > 0 {
		t.Errorf("HTTP/2: %+v %v", r.Sample, r.Checks())
	}
}

// A server that is gone, or hangs, ends nothing and holds nothing up.
func TestServersThatBreak(t *testing.T) {
	atOnce(t, func(t *testing.T, w way) {
		var n atomic.Int64
		s := served(t, w.encrypted, func(rw http.ResponseWriter, r *http.Request) bool {
			if r.URL.Path == manifest {
				return false
			}
			switch n.Add(1) % 8 {
			case 3:
				panic(http.ErrAbortHandler)
			case 7:
				<-r.Context().Done()
				return true
			}
			return false
		})
		begun := time.Now()
		r := run(t, s.env(), w.with(parameter.Settings{"connections": "2", "timeout": "400ms"}), 10, 4)
		if took := time.Since(begun); took > 8*time.Second {
			t.Errorf("%+v after %s", r.Sample, took)
		}
	})
}

// A server that goes away for good is retried, but not all the time.
func TestAServerThatIsGone(t *testing.T) {
	atOnce(t, func(t *testing.T, w way) {
		s := served(t, w.encrypted, nil)
		var gone sync.Once
		out := measure.NewRecorder(func(r *measure.Recorder) bool {
			gone.Do(func() {
				s.Listener.Close()
				s.CloseClientConnections()
			})
			return summed(r).Errors > 4
		})
		begun := time.Now()
		stage := load.Stage{Length: 5 * time.Second, Interval: 50 * time.Millisecond, Seed: 1}
		if err := made(t, w.with(parameter.Settings{"connections": "2", "timeout": "200ms"})).Run(t.Context(), s.env(), stage, out); err != nil {
			t.Error(err)
		}
		if all := summed(out); all.Errors < 5 || all.Errors > 400 || time.Since(begun) > 7*time.Second {
			t.Errorf("%d operations failed in %s", all.Errors, time.Since(begun))
		}
	})
}

func TestSocketsOfTheMachine(t *testing.T) {
	for _, w := range ways {
		s := served(t, w.encrypted, nil)
		name := filepath.Join(t.TempDir(), "s")
		l, err := net.Listen("unix", name)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close() })
		go relay(l, s.Listener.Addr().String())
		env := s.env()
		here, _ := env.Target("http")
		here.Network, here.Address = "unix", name
		env.Target = func(string) (load.Endpoint, error) { return here, nil }
		settings := w.with(parameter.Settings{"connections": "2", "unit": "page"})
		if w.encrypted { // the certificate is for another name
			if err := made(t, settings).Prepare(t.Context(), env); err == nil || !strings.Contains(err.Error(), "not localhost") {
				t.Errorf("%v: %v", w, err)
			}
			continue
		}
		if err := made(t, settings).Prepare(t.Context(), env); err != nil {
			t.Errorf("%v: %v", w, err)
		}
		if r := run(t, env, settings, enough, 0); r.Errors > 0 || r.Observed()["web.version"] != w.version {
			t.Errorf("%v: %+v, observed %v", w, r.Sample, r.Observed())
		}
	}
}

// relay carries connections on to an address.
func relay(l net.Listener, to string) {
	for {
		from, err := l.Accept()
		if err != nil {
			return
		}
		go func() {
			defer from.Close()
			conn, err := net.Dial("tcp", to)
			if err != nil {
				return
			}
			defer conn.Close()
			go func() {
				defer conn.Close()
				_, _ = io.Copy(conn, from)
			}()
			_, _ = io.Copy(from, conn)
		}()
	}
}

func at(address string) workload.Env {
	return workload.Env{Target: func(string) (load.Endpoint, error) { return load.Endpoint{Network: "tcp", Address: address}, nil }}
}

// saying is a server that says the same to whoever calls.
func saying(t *testing.T, text string) workload.Env {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				_, _ = conn.Read(make([]byte, 4096))
				_, _ = conn.Write([]byte(text))
			}()
		}
	}()
	return at(l.Addr().String())
}

func TestCheckSaysWhatIsMissing(t *testing.T) {
	empty := func(w http.ResponseWriter, r *http.Request) bool { http.NotFound(w, r); return true }
	deaf, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer deaf.Close()
	plain, encrypted := served(t, false, nil).env(), served(t, true, nil).env()
	odd, _ := encrypted.Target("http")
	odd.CA = []byte("no PEM")
	pages := parameter.List([]string{"/gone"})
	for i, c := range []struct {
		env      workload.Env
		settings parameter.Settings
		want     string
	}{
		{served(t, false, empty).env(), nil, "/pages.txt: 404 Not Found; specify them with web.pages"},
		{plain, parameter.Settings{"pages": pages}, "for /gone over HTTP/1.1: it responds with status 404, which is not in web.expect"},
		{plain, parameter.Settings{"pages": pages, "version": "2"}, "for /gone over HTTP/2: it responds with status 404, which is not in web.expect"},
		{workload.Env{Target: func(string) (load.Endpoint, error) { return load.Endpoint{}, errors.New("none") }}, nil, "find a web server: none"},
		{at("127.0.0.1:1"), nil, "connection refused"},
		{at("127.0.0.1:1"), parameter.Settings{"pages": pages}, "connection refused"},
		{at("127.0.0.1:1"), parameter.Settings{"pages": pages, "version": "2"}, "connection refused"},
		{at(deaf.Addr().String()), parameter.Settings{"pages": pages, "timeout": "30ms"}, "no answer within 30ms"},
		{at(deaf.Addr().String()), parameter.Settings{"pages": pages, "timeout": "30ms", "tls": "on"}, "no answer within 30ms"},
		{at(deaf.Addr().String()), parameter.Settings{"pages": pages, "timeout": "30ms", "version": "2"}, "no answer within 30ms"},
		{saying(t, "SSH-2.0\r\n"), parameter.Settings{"pages": pages}, `"SSH-2.0\r\n" is not an HTTP/1.1 response`},
		{saying(t, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhel"), parameter.Settings{"pages": pages}, "closes the connection before the response is complete"},
		{saying(t, "HTTP/1.1 200 OK\r\n\r\nall of it"), parameter.Settings{"pages": pages}, "must send Content-Length or chunked encoding"},
		{saying(t, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"), parameter.Settings{"pages": pages, "version": "2"}, "over HTTP/2: "},
		{saying(t, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"), parameter.Settings{"pages": pages, "tls": "on"}, "first record does not look like a TLS handshake"},
		{encrypted, parameter.Settings{"tls": "off"}, "speaks TLS: set web.tls to auto"},
		{at(odd.Address), parameter.Settings{"tls": "on", "pages": pages}, "certificate signed by unknown authority"},
		{workload.Env{Target: func(string) (load.Endpoint, error) { return odd, nil }}, nil, "is not a certificate in PEM"},
	} {
		for _, ask := range []func(l workload.Load) error{
			func(l workload.Load) error { _, err := l.Check(t.Context(), c.env); return err },
			func(l workload.Load) error { return l.Prepare(t.Context(), c.env) },
		} {
			if err := ask(made(t, c.settings)); err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%d: got %v, want %q", i, err, c.want)
			}
		}
	}
	if _, err := made(t, nil).Check(t.Context(), workload.Env{}); err != nil {
		t.Errorf("a service that is not there yet: %v", err)
	}
	if err := made(t, nil).Run(t.Context(), workload.Env{}, load.Stage{}, measure.NewRecorder(nil)); err == nil {
		t.Error("a load without a server runs")
	}
}

func TestSettingsThatAreRefused(t *testing.T) {
	list := func(texts ...string) string { return parameter.List(texts) }
	for _, s := range []parameter.Settings{
		{"rate": "5/s", "think": "1ms"}, {"shape": "ramp to 2 over 5s"}, {"keepalive": "false", "pipeline": "2"},
		{"threads": "2", "connections": "1"}, {"rate": "5/s", "shape": "up"}, {"connections": "0"}, {"reuse": "-1"},
		{"unit": "site"}, {"method": "POST"}, {"version": "3"}, {"tls": "perhaps"}, {"version": "2", "pipeline": "101"},
		{"pages": list("index.html")}, {"headers": list("Host")}, {"headers": list("A: b\r\nC: d")}, {"headers": list("connection: close")},
		{"expect": list()}, {"expect": list("2")}, {"expect": list("6xx")}, {"expect": list("100")}, {"expect": list("ok")}, {"expect": list("20x")},
	} {
		if _, err := Kind().New(s); err == nil {
			t.Errorf("%v passed", s)
		}
	}
}

func TestDemand(t *testing.T) {
	d := made(t, parameter.Settings{"connections": "3", "pipeline": "4", "rate": "50/s"}).Demand()
	if got, want := fmt.Sprint(d), "{12 50 0s 0 [{ 1 0}] false}"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
