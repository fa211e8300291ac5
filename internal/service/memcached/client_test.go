package memcached

import (
	"bufio"
	"context"
	"io"
	"io/fs"
	"maps"
	"net"
	"strings"
	"testing"

	"plimsoll/internal/parameter"
	"plimsoll/internal/platform"
	"plimsoll/internal/service"
)

func TestParse(t *testing.T) {
	got, err := parse(bufio.NewReader(strings.NewReader("STAT pid 1\r\nSTAT version 1.6.18 (x)\r\nEND\r\nSTAT late 1\r\n")))
	if err != nil || !maps.Equal(got, map[string]string{"pid": "1", "version": "1.6.18 (x)"}) {
		t.Errorf("got %v, %v", got, err)
	}
	for _, text := range []string{"", "STAT a 1\r\n", "ERROR\r\n", "STAT a\r\nEND\r\n", "VALUE a 1\r\n", strings.Repeat("x", 99999)} {
		if got, err := parse(bufio.NewReader(strings.NewReader(text))); err == nil {
			t.Errorf("%.40q is %v", text, got)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("STAT pid 1\r\nEND\r\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := parse(bufio.NewReader(strings.NewReader(string(data))))
		if (err == nil) != (got != nil) || len(got) > len(data) {
			t.Errorf("%q is %q, %v", data, got, err)
		}
	})
}

// answering is a server that sends the same response to every request.
func answering(t *testing.T, says string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	t.Cleanup(func() { l.Close(); <-ended })
	go func() {
		defer close(ended)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = conn.Read(make([]byte, 100))
			_, _ = io.WriteString(conn, says)
			conn.Close()
		}
	}()
	return l.Addr().String()
}

func used(t *testing.T, address string) service.Service {
	t.Helper()
	s, err := Kind().New(parameter.Settings{"address": address})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestForeignServer(t *testing.T) {
	address := answering(t, "STAT version 1.6.18\r\nSTAT rusage_user 1.5\r\nSTAT rusage_system 0.25\r\nSTAT cmd_get 12\r\nSTAT bytes junk\r\nSTAT num_threads 4\r\nSTAT maxbytes 67108864\r\nEND\r\n")
	s := used(t, address)
	needs, err := s.Check(t.Context(), service.Env{})
	if err != nil || needs.Versions["memcached"] != "1.6.18" {
		t.Errorf("got %+v, %v", needs, err)
	}
	i, err := s.Start(t.Context(), service.Env{})
	if err != nil {
		t.Fatal(err)
	}
	if e, err := i.Endpoint("memcached"); err != nil || e.Address != address {
		t.Errorf("got %+v, %v", e, err)
	}
	if c, err := i.Counters(t.Context()); err != nil || !maps.Equal(c, map[string]float64{"memcached.cpu": 1.75, "memcached.gets": 12}) {
		t.Errorf("got %v, %v", c, err)
	}
	if o, err := i.Observed(t.Context()); err != nil || !maps.Equal(o, map[string]string{"address": address, "threads": "4", "memory": "64MiB"}) {
		t.Errorf("got %v, %v", o, err)
	}
	if err := i.Stop(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestForeignServersThatAreNone(t *testing.T) {
	for says, want := range map[string]string{"-ERR unknown command\r\n": "does not speak the protocol of memcached", "": "does not speak the protocol of memcached"} {
		_, err := used(t, answering(t, says)).Start(t.Context(), service.Env{})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q gives %v", says, err)
		}
	}
}

func TestSettingsThatMakeNoSense(t *testing.T) {
	for _, c := range []struct {
		settings parameter.Settings
		want     string
	}{
		{parameter.Settings{"memory": "65000KiB"}, "whole number of MiB"}, {parameter.Settings{"memory": "8MiB", "max_item": "5MiB"}, "more than half"},
		{parameter.Settings{"address": "a:1", "threads": "2"}, "threads cannot be set on a server you provide"},
		{parameter.Settings{"address": "x"}, "neither host:port"},
	} {
		if _, err := Kind().New(c.settings); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v gives %v", c.settings, err)
		}
	}
}

// printing is a machine where memcached prints a version.
type printing struct {
	platform.Machine
	version string
}

func (p printing) Run(_ context.Context, c platform.Command) (platform.Result, error) {
	if p.version == "" || c.Argv[0] != "memcached" {
		return platform.Result{}, fs.ErrNotExist
	}
	return platform.Result{Stdout: []byte("memcached " + p.version + "\n")}, nil
}

func TestCheckNamesWhatIsLacking(t *testing.T) {
	for version, want := range map[string]string{
		"": "memcached is not installed on this host: apt install memcached", "1.4.39": "memcached 1.4.39 is too old", "1.6.18": "",
	} {
		s, err := Kind().New(nil)
		if err != nil {
			t.Fatal(err)
		}
		needs, err := s.Check(t.Context(), service.Env{Machine: printing{version: version}})
		if want == "" && (err != nil || needs.Versions["memcached"] != version) || want != "" && (err == nil || !strings.HasPrefix(err.Error(), want)) {
			t.Errorf("%q: %+v, %v", version, needs, err)
		}
	}
}
