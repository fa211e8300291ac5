package web

import (
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"plimsoll/internal/load"
	"plimsoll/internal/load/loadtest"
	"plimsoll/internal/measure"
	"plimsoll/internal/parameter"
	"plimsoll/internal/workload"
)

// site is a web server with one page of three files, 200 bytes in all.
type site struct {
	*httptest.Server
	connections, first, second atomic.Int64 // connections, and requests by version of HTTP
}

// served starts a site. What is asked of it goes by change first, which answers
// whether it has dealt with the request.
func served(t *testing.T, encrypted bool, change func(http.ResponseWriter, *http.Request) bool) *site {
	t.Helper()
	s := &site{}
	s.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ProtoMajor == 2 {
			s.second.Add(1)
		} else {
			s.first.Add(1)
		}
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
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			s.connections.Add(1)
		}
	}
	if encrypted {
		s.EnableHTTP2 = true
		s.StartTLS()
	} else {
		s.Config.Protocols = new(http.Protocols)
		s.Config.Protocols.SetHTTP1(true)
		s.Config.Protocols.SetUnencryptedHTTP2(true)
		s.Start()
	}
	t.Cleanup(s.Close)
	return s
}

func (s *site) env() workload.Env {
	at := load.Endpoint{Network: "tcp", Address: s.Listener.Addr().String()}
	if c := s.Certificate(); c != nil {
		at.CA = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Raw})
	}
	return workload.Env{Target: func(string) (load.Endpoint, error) { return at, nil }}
}

// ran is what a load recorded, and all its operations together.
type ran struct {
	*measure.Recorder
	measure.Sample
}

// enough is how many operations a test looks at, where it needs no other number.
const enough = 60

// few is the same where each operation needs a connection.
var few = max(24, int64(loadtest.Short(enough)))

// run runs a load until so many operations have ended well, and so many not.
func run(t *testing.T, env workload.Env, s parameter.Settings, well, failed int64) ran {
	t.Helper()
	done := func(r *measure.Recorder) bool {
		all := summed(r)
		return all.Operations >= well && all.Errors >= failed
	}
	r := measure.NewRecorder(done)
	if err := made(t, s).Run(t.Context(), env, load.Stage{Length: 10 * time.Second, Interval: 20 * time.Millisecond, Seed: 1}, r); err != nil {
		t.Fatalf("%v: %v", s, err)
	}
	if !done(r) {
		t.Errorf("%v: %+v, want %d well and %d failed; %v", s, summed(r), well, failed, r.Checks())
	}
	return ran{r, summed(r)}
}

// summed joins all intervals.
func summed(r *measure.Recorder) (all measure.Sample) {
	for _, in := range r.Intervals() {
		for _, one := range in.Samples {
			all.Operations += one.Operations
			all.Errors += one.Errors
			all.Bytes += one.Bytes
		}
	}
	return all
}

// way is a version of HTTP, encrypted or not.
type way struct {
	version   string
	encrypted bool
}

var ways = []way{{"1.1", false}, {"1.1", true}, {"2", false}, {"2", true}}

// atOnce tests all ways at the same time.
func atOnce(t *testing.T, test func(t *testing.T, w way)) {
	t.Parallel()
	for _, w := range ways {
		t.Run(fmt.Sprint(w), func(t *testing.T) {
			t.Parallel()
			test(t, w)
		})
	}
}

func (w way) with(s parameter.Settings) parameter.Settings {
	all := parameter.Settings{"version": w.version}
	for k, v := range s {
		all[k] = v
	}
	return all
}
