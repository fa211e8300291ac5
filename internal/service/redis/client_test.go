package redis

import (
	"bufio"
	"context"
	"errors"
	"io"
	"io/fs"
	"net"
	"strconv"
	"strings"
	"testing"

	"plimsoll/internal/load"
	"plimsoll/internal/parameter"
	"plimsoll/internal/platform"
	"plimsoll/internal/service"
	"plimsoll/internal/service/keyvalue"
	"plimsoll/internal/service/ports"
)

func TestParse(t *testing.T) {
	for text, want := range map[string]string{
		"+OK\r\n": "OK", ":12\r\n": "12", "$3\r\na\r\n\r\n": "a\r\n", "$-1\r\n": "", "*0\r\n": "",
		"*2\r\n$1\r\na\r\n*2\r\n:1\r\n+b\r\n": "a|1|b",
	} {
		got, err := parse(bufio.NewReader(strings.NewReader(text)), 0)
		if err != nil || strings.Join(got, "|") != want {
			t.Errorf("%q is %q, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "\r\n", "x\r\n", "$x\r\n", "$5\r\nab", "*2\r\n:1\r\n", "$99999999\r\n", "HTTP/1.1 400 Bad Request\r\n", strings.Repeat("*1\r\n", 20), "+" + strings.Repeat("x", 9999)} {
		if got, err := parse(bufio.NewReader(strings.NewReader(text)), 0); err == nil {
			t.Errorf("%.40q is %q", text, got)
		}
	}
	var refused keyvalue.Refusal
	if _, err := parse(bufio.NewReader(strings.NewReader("-NOAUTH who are you\r\n")), 0); !errors.As(err, &refused) || err.Error() != "NOAUTH who are you" {
		t.Errorf("got %v", err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("*2\r\n$1\r\na\r\n*2\r\n:1\r\n+b\r\n"))
	f.Add([]byte("-ERR\r\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := parse(bufio.NewReader(strings.NewReader(string(data))), 0)
		total := 0
		for _, text := range got {
			total += len(text)
		}
		if total > len(data) || err != nil && got != nil {
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

func bulk(text string) string { return "$" + strconv.Itoa(len(text)) + "\r\n" + text + "\r\n" }

// used is the service of an existing server at an address.
func used(t *testing.T, address string) service.Service {
	t.Helper()
	s, err := Kind().New(parameter.Settings{"address": address})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestForeignServersThatAreNone(t *testing.T) {
	for says, want := range map[string]string{
		"-NOAUTH Authentication required.\r\n": "refused the request: NOAUTH",
		"HTTP/1.1 400 Bad Request\r\n\r\n":     "does not speak the protocol of Redis",
		"":                                     "does not speak the protocol of Redis",
		bulk("# Server\r\nname:else\r\n"):      "is not Redis or Valkey",
	} {
		_, err := used(t, answering(t, says)).Check(t.Context(), service.Env{})
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q gives %v", says, err)
		}
	}
	free, err := ports.Free(t.Context(), here(t), 1)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := used(t, net.JoinHostPort(service.Loopback, strconv.Itoa(free[0]))).Start(t.Context(), service.Env{}); err == nil || !strings.Contains(err.Error(), "nothing listens at") {
		t.Errorf("no server: %v", err)
	}
}

func TestForeignServer(t *testing.T) {
	says := bulk("# Server\r\nredis_version:7.0.15\r\nused_cpu_user:1.5\r\nused_cpu_sys:0.25\r\nkeyspace_hits:12\r\nused_memory:junk\r\n")
	address := answering(t, says)
	s := used(t, address)
	needs, err := s.Check(t.Context(), service.Env{})
	if err != nil || needs.Versions["redis"] != "7.0.15" {
		t.Errorf("got %+v, %v", needs, err)
	}
	i, err := s.Start(t.Context(), service.Env{})
	if err != nil {
		t.Fatal(err)
	}
	if e, err := i.Endpoint("redis"); err != nil || e.Address != address || e.Network != "tcp" {
		t.Errorf("got %+v, %v", e, err)
	}
	counts, err := i.Counters(t.Context())
	if err != nil || len(counts) != 2 || counts["redis.cpu"] != 1.75 || counts["redis.hits"] != 12 {
		t.Errorf("got %v, %v", counts, err)
	}
	if err := i.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := i.Counters(t.Context()); err != nil {
		t.Errorf("after it was stopped, it does not answer: %v", err)
	}
}

func TestObserve(t *testing.T) {
	words := []string{"maxmemory", "1048576", "appendonly", "yes", "maxmemory-policy", "allkeys-lru", "save", "3600 1", "hz", "10", "port", "1"}
	says := "*" + strconv.Itoa(len(words)) + "\r\n"
	for _, w := range words {
		says += bulk(w)
	}
	at := func(address string) client { return newClient(nil, load.Endpoint{Network: "tcp", Address: address}) }
	got, err := at(answering(t, says)).observe(t.Context())
	want := map[string]string{"maxmemory": "1MiB", "appendonly": "true", "maxmemory_policy": "allkeys-lru", "save": "3600 1", "hz": "10"}
	if err != nil || len(got) != len(want) {
		t.Errorf("got %v, %v", got, err)
	}
	for name := range want {
		if got[name] != want[name] {
			t.Errorf("%s is %q", name, got[name])
		}
	}
	if got, err := at(answering(t, "-ERR unknown command\r\n")).observe(t.Context()); err != nil || len(got) != 0 {
		t.Errorf("where it does not tell: %v, %v", got, err)
	}
	if _, err := at(answering(t, "*2\r\n"+bulk("maxmemory")+bulk("lots"))).observe(t.Context()); err == nil {
		t.Error("a memory of lots is believed")
	}
}

func TestSettingsThatMakeNoSense(t *testing.T) {
	for _, c := range []struct {
		settings parameter.Settings
		want     string
	}{
		{parameter.Settings{"save": "3600"}, "pair"}, {parameter.Settings{"save": "a b"}, "pair"}, {parameter.Settings{"save": "0 1"}, "pair"},
		{parameter.Settings{"address": "nowhere"}, "neither host:port"},
		{parameter.Settings{"address": "a:1", "hz": "50"}, "hz cannot be set on a server you provide"},
		{parameter.Settings{"hz": "501"}, "at most 500"},
	} {
		if _, err := Kind().New(c.settings); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v gives %v", c.settings, err)
		}
	}
}

// printing is a machine where a program prints its version.
type printing struct {
	platform.Machine
	program, version string
}

func (p printing) Run(_ context.Context, c platform.Command) (platform.Result, error) {
	if c.Argv[0] != p.program {
		return platform.Result{}, fs.ErrNotExist
	}
	return platform.Result{Stdout: []byte(p.version)}, nil
}

func TestCheckNamesWhatIsLacking(t *testing.T) {
	for _, c := range []struct{ program, version, threads, want string }{
		{"none", "", "1", "redis-server is not installed on this host: apt install redis-server"},
		{"redis-server", "Redis server v=5.0.3", "2", "redis-server 5.0.3 has no io_threads"},
		{"redis-server", "Redis server v=5.0.3", "1", ""},
		{"valkey-server", "Valkey server v=8.1.1", "2", ""},
	} {
		s, err := Kind().New(parameter.Settings{"io_threads": c.threads})
		if err != nil {
			t.Fatal(err)
		}
		needs, err := s.Check(t.Context(), service.Env{Machine: printing{program: c.program, version: c.version}})
		if c.want == "" && (err != nil || len(needs.Versions) != 1) || c.want != "" && (err == nil || !strings.HasPrefix(err.Error(), c.want)) {
			t.Errorf("%+v: %+v, %v", c, needs, err)
		}
	}
}

// Options depend on the version.
func TestConfigFitsTheVersion(t *testing.T) {
	for version, lines := range map[string]int{"5.0.3": 11, "6.0.1": 12, "7.0.15": 13} {
		text := string(defaults().config(service.Found{Version: version}, service.Location{Host: "127.0.0.1", Dir: "/a b", Ports: []int{7}}))
		if strings.Count(text, "\n") != lines || !strings.Contains(text, "dir \"/a b\"\n") || !strings.Contains(text, "port 7\n") || !strings.Contains(text, "save \"\"\n") {
			t.Errorf("%s: %s", version, text)
		}
	}
}
