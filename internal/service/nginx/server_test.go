package nginx

import (
	"context"
	"encoding/pem"
	"flag"
	"io"
	"io/fs"
	"log"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/parameter"
	"plimsoll/internal/platform"
	"plimsoll/internal/service"
)

var update = flag.Bool("update", false, "write the golden files anew")

func TestConfig(t *testing.T) {
	for name, c := range map[string]struct {
		settings parameter.Settings
		version  string
		root     bool
	}{
		"plain":     {nil, "1.22.1", false},
		"tls-http2": {parameter.Settings{"tls": "true", "http2": "true", "workers": "4", "keepalive_requests": "5"}, "1.22.1", false},
		"new-http2": {parameter.Settings{"http2": "true"}, "1.25.1", true},
	} {
		s := defaults()
		if err := parameter.Decode(&s, c.settings); err != nil {
			t.Fatal(err)
		}
		got := config{
			settings: s, place: service.Location{Host: "127.0.0.1", Dir: "/d", Ports: []int{8001, 8002}, Root: c.root}, secret: "SECRET",
			found: service.Found{Version: c.version, Said: "--without-http_uwsgi_module"},
		}.text()
		file := filepath.Join("testdata", name+".conf")
		if *update {
			if err := os.WriteFile(file, got, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil || string(want) != string(got) {
			t.Errorf("%s: got\n%s, %v", name, got, err)
		}
	}
}

func TestParseStatus(t *testing.T) {
	got, err := parseStatus("Active connections: 2 \nserver accepts handled requests\n 15 15 39 \nReading: 0 Writing: 1 Waiting: 1 \n")
	if err != nil || !maps.Equal(got, map[string]float64{"nginx.requests": 39, "nginx.connections": 15, "nginx.clients": 2, "nginx.idle": 1}) {
		t.Errorf("got %v, %v", got, err)
	}
	for _, text := range []string{"", "<html>", "Active connections: x"} {
		if got, err := parseStatus(text); err == nil {
			t.Errorf("%q is %v", text, got)
		}
	}
}

func TestParseStat(t *testing.T) {
	parent, cpu, ok := parseStat("12 (a) b (c) S 7 12 12 0 -1 4194560 1 2 3 4 150 25 0 0 20 0 1 0 100\n")
	if !ok || parent != "7" || cpu != 1750*time.Millisecond {
		t.Errorf("got %q, %s, %v", parent, cpu, ok)
	}
	for _, text := range []string{"", "12 (a) S 7", "12 (a) S 7 12 12 0 -1 4194560 1 2 3 4 x 25 0 0"} {
		if _, _, ok := parseStat(text); ok {
			t.Errorf("%q is read", text)
		}
	}
}

func FuzzParsers(f *testing.F) {
	f.Add("Active connections: 2 \nserver accepts handled requests\n 15 15 39 \nReading: 0 Writing: 1 Waiting: 1 \n")
	f.Add("12 (a) b (c) S 7 12 12 0 -1 4194560 1 2 3 4 150 25 0 0 20 0 1 0 100\n")
	f.Fuzz(func(t *testing.T, text string) {
		if counts, err := parseStatus(text); (err == nil) != (len(counts) == 4) {
			t.Errorf("%q is %v, %v", text, counts, err)
		}
		if parent, _, ok := parseStat(text); ok && !strings.Contains(text, parent) {
			t.Errorf("the parent in %q is %q", text, parent)
		}
	})
}

// files is a machine with one file.
type files struct {
	platform.Machine
	name string
	data []byte
}

func (f files) ReadFile(_ context.Context, name string) ([]byte, error) {
	if name != f.name {
		return nil, os.ErrNotExist
	}
	return f.data, nil
}

func use(t *testing.T, m platform.Machine, settings parameter.Settings) (service.Instance, error) {
	t.Helper()
	s, err := Kind().New(settings)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Check(t.Context(), service.Env{Machine: m}); err != nil {
		return nil, err
	}
	return s.Start(t.Context(), service.Env{Machine: m})
}

func TestForeignServer(t *testing.T) {
	site := httptest.NewServer(http.NotFoundHandler())
	defer site.Close()
	address := strings.TrimPrefix(site.URL, "http://")
	i, err := use(t, nil, parameter.Settings{"address": address})
	if err != nil {
		t.Fatal(err)
	}
	if e, err := i.Endpoint("http"); err != nil || e.Address != address || e.CA != nil {
		t.Errorf("got %+v, %v", e, err)
	}
	if o, err := i.Observed(t.Context()); err != nil || !maps.Equal(o, map[string]string{"address": address, "tls": "false", "http2": "false"}) {
		t.Errorf("got %v, %v", o, err)
	}
	if c, err := i.Counters(t.Context()); c != nil || err != nil {
		t.Errorf("got %v, %v", c, err)
	}
	if err := i.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := use(t, nil, parameter.Settings{"address": address, "http2": "true"}); err == nil || !strings.Contains(err.Error(), "does not speak HTTP/2") {
		t.Errorf("HTTP/2 that it does not speak: %v", err)
	}
}

func TestForeignServerOverTLS(t *testing.T) {
	site := httptest.NewUnstartedServer(http.NotFoundHandler())
	site.EnableHTTP2 = true
	site.Config.ErrorLog = log.New(io.Discard, "", 0)
	site.StartTLS()
	defer site.Close()
	address := strings.TrimPrefix(site.URL, "https://")
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: site.Certificate().Raw})
	settings := parameter.Settings{"address": address, "tls": "true", "http2": "true", "ca": "/ca.pem"}
	i, err := use(t, files{name: "/ca.pem", data: ca}, settings)
	if err != nil {
		t.Fatal(err)
	}
	if e, err := i.Endpoint("http"); err != nil || string(e.CA) != string(ca) {
		t.Errorf("got %+v, %v", e, err)
	}
	if o, err := i.Observed(t.Context()); err != nil || o["tls"] != "true" || o["http2"] != "true" {
		t.Errorf("got %v, %v", o, err)
	}
	for want, m := range map[string]files{"read the certificate authority": {}, "no certificate in PEM": {name: "/ca.pem", data: []byte("junk")}} {
		if _, err := use(t, m, settings); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
	}
	other, err := service.NewCertificate()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := use(t, files{name: "/ca.pem", data: other.CA}, settings); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("an authority that did not sign: %v", err)
	}
}

func TestForeignServerThatIsNone(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = conn.Read(make([]byte, 1000))
			_, _ = io.WriteString(conn, "220 mail\r\n")
			conn.Close()
		}
	}()
	if _, err := use(t, nil, parameter.Settings{"address": l.Addr().String()}); err == nil || !strings.HasPrefix(err.Error(), "the web server at") || strings.Contains(err.Error(), "\n") {
		t.Errorf("got %v", err)
	}
	l.Close()
	<-ended
	if _, err := use(t, nil, parameter.Settings{"address": l.Addr().String()}); err == nil || !strings.Contains(err.Error(), "nothing listens") {
		t.Errorf("got %v", err)
	}
}

func TestSettingsThatMakeNoSense(t *testing.T) {
	for _, c := range []struct {
		settings parameter.Settings
		want     string
	}{
		{parameter.Settings{"ca": "/x"}, "requires address"}, {parameter.Settings{"address": "a:1", "tls": "true"}, "must be set together"},
		{parameter.Settings{"address": "a:1", "workers": "2"}, "workers cannot be set"}, {parameter.Settings{"address": "a"}, "neither host:port"},
		{parameter.Settings{"page_size": "1B"}, "at least 128B"},
	} {
		if _, err := Kind().New(c.settings); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v gives %v", c.settings, err)
		}
	}
}

// printing is a machine where nginx prints its build options.
type printing struct {
	platform.Machine
	said string
}

func (p printing) Run(_ context.Context, c platform.Command) (platform.Result, error) {
	if p.said == "" || c.Argv[0] != "/usr/sbin/nginx" {
		return platform.Result{}, fs.ErrNotExist
	}
	return platform.Result{Stderr: []byte(p.said)}, nil
}

func TestCheckNamesWhatIsLacking(t *testing.T) {
	const all = " --with-http_stub_status_module --with-http_ssl_module --with-http_v2_module"
	for _, c := range []struct {
		said     string
		settings parameter.Settings
		want     string
	}{
		{"", nil, "nginx is not installed on this host: apt install nginx-light"},
		{"nginx version: nginx/1.18.0" + all, nil, "nginx 1.18.0 is too old"},
		{"nginx version: nginx/1.22.1", nil, "without http_stub_status_module"},
		{"nginx version: nginx/1.22.1 --with-http_stub_status_module", parameter.Settings{"tls": "true"}, "without http_ssl_module"},
		{"nginx version: nginx/1.22.1 --with-http_stub_status_module", parameter.Settings{"http2": "true"}, "without http_v2_module"},
		{"nginx version: nginx/1.22.1 --with-http_stub_status_module", nil, ""},
		{"nginx version: nginx/1.22.1" + all, parameter.Settings{"http2": "true", "tls": "true"}, ""},
	} {
		s, err := Kind().New(c.settings)
		if err != nil {
			t.Fatal(err)
		}
		needs, err := s.Check(t.Context(), service.Env{Machine: printing{said: c.said}})
		if c.want == "" && (err != nil || needs.Versions["nginx"] != "1.22.1" || needs.Disk != 100<<10) || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%+v: %+v, %v", c, needs, err)
		}
	}
}
