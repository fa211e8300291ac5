package postgresql

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"net"
	"strings"
	"testing"

	"plimsoll/internal/parameter"
	"plimsoll/internal/platform"
	"plimsoll/internal/service"
)

func TestSettingsThatMakeNoSense(t *testing.T) {
	for _, c := range []struct {
		settings parameter.Settings
		want     string
	}{
		{parameter.Settings{"min_wal_size": "2GiB"}, "is more than max_wal_size"},
		{parameter.Settings{"address": "a:1", "jit": "false"}, "jit cannot be set on a server you provide"},
		{parameter.Settings{"max_connections": "3"}, "max_connections"},
	} {
		if _, err := Kind().New(c.settings); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v gives %v", c.settings, err)
		}
	}
	if _, err := Kind().New(parameter.Settings{"address": "/run/pg/.s.PGSQL.5432", "user": "me", "password": "file:/p", "database": "d"}); err != nil {
		t.Error(err)
	}
}

func TestConfig(t *testing.T) {
	s := defaults()
	s.WALCompression, s.CheckpointTarget, s.Fsync = "pglz", .5, false
	place := service.Location{Host: "10.0.0.1", Dir: "/d", Ports: []int{5433}}
	for version, compression := range map[string]string{"14.9": "on", "15.4": "pglz"} {
		text := string(s.config(service.Found{Version: version}, place))
		for _, want := range []string{
			"listen_addresses = '10.0.0.1'\n", "port = '5433'\n", "shared_buffers = '262144kB'\n", "fsync = 'off'\n", "autovacuum = 'on'\n",
			"checkpoint_timeout = '300s'\n", "checkpoint_completion_target = '0.5'\n", "wal_compression = '" + compression + "'\n", "wal_level = 'minimal'\n",
		} {
			if !strings.Contains(text, want) {
				t.Errorf("version %s: there is no %q in\n%s", version, want, text)
			}
		}
	}
}

func TestCanonical(t *testing.T) {
	for _, c := range []struct {
		kind              parameter.Kind
		value, unit, want string
	}{
		{parameter.KindBytes, "32768", "8kB", "256MiB"}, {parameter.KindBytes, "80", "MB", "80MiB"}, {parameter.KindSwitch, "on", "", "true"},
		{parameter.KindSwitch, "off", "", "false"}, {parameter.KindDuration, "300", "s", "5m"}, {parameter.KindShare, "0.9", "", "90%"},
		{parameter.KindNumber, "1.1", "", "1.1"}, {parameter.KindText, "try", "", "try"},
	} {
		if got, err := canonical(c.kind, c.value, c.unit); err != nil || got != c.want {
			t.Errorf("%s%s is %s, %v; not %s", c.value, c.unit, got, err, c.want)
		}
	}
	for _, c := range [][2]string{{"lots", "kB"}, {"1", "barrels"}} {
		for _, kind := range []parameter.Kind{parameter.KindBytes, parameter.KindDuration} {
			if got, err := canonical(kind, c[0], c[1]); err == nil {
				t.Errorf("%s%s is %s", c[0], c[1], got)
			}
		}
	}
}

// Every counter exists once in each version, and is documented.
func TestCountersOfEveryVersion(t *testing.T) {
	listed := len(metrics())
	for _, version := range []int{140000, 150004, 170000, 180000} {
		seen := map[string]bool{}
		for _, c := range counters() {
			if version < c.since || c.until > 0 && version >= c.until {
				continue
			}
			if seen[c.metric.Name] {
				t.Errorf("version %d has %s twice", version, c.metric.Name)
			}
			seen[c.metric.Name] = true
		}
		if len(seen) != listed {
			t.Errorf("version %d has %d of %d counters", version, len(seen), listed)
		}
	}
}

// printing is a machine where a program prints its version.
type printing struct {
	platform.Machine
	program, version, memory string
}

func (p printing) Run(_ context.Context, c platform.Command) (platform.Result, error) {
	if c.Argv[0] != p.program {
		return platform.Result{}, fs.ErrNotExist
	}
	return platform.Result{Stdout: []byte(p.version)}, nil
}

func (p printing) ReadFile(context.Context, string) ([]byte, error) {
	if p.memory == "" {
		return nil, errors.New("it does not tell")
	}
	return []byte("MemTotal: " + p.memory + " kB\n"), nil
}

func TestCheckNamesWhatIsLacking(t *testing.T) {
	const said = "postgres (PostgreSQL) 15.4 (Debian 15.4-1)"
	for _, c := range []struct{ program, memory, want string }{
		{"none", "", "postgres is not installed on this host: apt install postgresql"},
		{"postgres", "", ""},
		{"/usr/lib/postgresql/17/bin/postgres", "1048576", ""},
		{"/usr/pgsql-16/bin/postgres", "262148", "shared_buffers 256MiB is more than three quarters of the memory of this host, 256MiB: lower it"},
	} {
		s, err := Kind().New(nil)
		if err != nil {
			t.Fatal(err)
		}
		needs, err := s.Check(t.Context(), service.Env{Machine: printing{program: c.program, version: said, memory: c.memory}})
		if c.want == "" && (err != nil || needs.Versions["postgres"] != "15.4") || c.want != "" && (err == nil || !strings.HasPrefix(err.Error(), c.want)) {
			t.Errorf("%+v: %+v, %v", c, needs, err)
		}
	}
}

// An existing server outlives the instance. Servers of other protocols are reported.
func TestRealForeign(t *testing.T) {
	m := here(t)
	own, err := start(t, m, parameter.Settings{"random_page_cost": "1.5"})
	if err != nil {
		t.Fatal(err)
	}
	e, err := own.Endpoint(protocol)
	if err != nil {
		t.Fatal(err)
	}
	guest, err := start(t, m, parameter.Settings{"address": e.Address})
	if err != nil {
		t.Fatal(err)
	}
	observed, err := guest.Observed(t.Context())
	if err != nil || observed["random_page_cost"] != "1.5" || observed["address"] != e.Address {
		t.Errorf("got %v, %v", observed, err)
	}
	counts, err := guest.Counters(t.Context())
	if err != nil || len(counts) != len(metrics()) || counts["postgresql.log"] <= 0 {
		t.Errorf("got %v, %v", counts, err)
	}
	if err := guest.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := own.Counters(t.Context()); err != nil {
		t.Errorf("it was ended by one who only used it: %v", err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = conn.Read(make([]byte, 100))
			_, _ = io.WriteString(conn, "HTTP/1.1 400 Bad Request\r\n\r\n")
			conn.Close()
		}
	}()
	for want, settings := range map[string]parameter.Settings{
		"does not speak the protocol": {"address": l.Addr().String()},
		"does not exist":              {"address": e.Address, "user": "nobody_here"},
		"nothing listens at":          {"address": "127.0.0.1:1"},
	} {
		if _, err := start(t, m, settings); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%v gives %v", settings, err)
		}
	}
}

// start starts a server, and stops it at the end of the test.
func start(t *testing.T, m platform.Machine, settings parameter.Settings) (service.Instance, error) {
	t.Helper()
	i, _, err := startIn(t, m, settings)
	return i, err
}

// startIn is start, and returns the folder as well.
func startIn(t *testing.T, m platform.Machine, settings parameter.Settings) (i service.Instance, dir string, err error) {
	t.Helper()
	s, err := Kind().New(settings)
	if err != nil {
		t.Fatal(err)
	}
	dir = reachable(t)
	i, err = s.Start(t.Context(), service.Env{Machine: m, Dir: dir, Log: t.Logf})
	if err == nil {
		t.Cleanup(func() {
			if err := i.Stop(context.Background()); err != nil {
				t.Error(err)
			}
		})
	}
	return i, dir, err
}
