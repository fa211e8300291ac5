package keyvalue

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/measure"
	"plimsoll/internal/parameter"
)

// real starts a server of the distribution on a free port of the loopback device.
func real(t *testing.T, protocol string, options ...string) store {
	t.Helper()
	if os.Getenv("PLIMSOLL_REAL") == "" {
		t.Skip("set PLIMSOLL_REAL=1 to test with redis-server and memcached")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	_, port, _ := net.SplitHostPort(address)
	l.Close()
	argv := map[string][]string{
		"redis":     {"redis-server", "--bind", "127.0.0.1", "--port", port, "--save", "", "--dir", t.TempDir()},
		"memcached": {"memcached", "-l", "127.0.0.1", "-p", port, "-U", "0", "-t", "1", "-u", "root"},
	}[protocol]
	c := exec.Command(argv[0], append(argv[1:], options...)...)
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.Process.Kill()
		c.Wait()
	})
	s := store{at: map[string]string{protocol: address}}
	for over := time.Now().Add(10 * time.Second); ; {
		if _, err := made(t, parameter.Settings{"protocol": protocol}).Check(t.Context(), s.env()); err == nil {
			return s
		} else if time.Now().After(over) {
			t.Fatal(err)
		}
		<-time.After(20 * time.Millisecond)
	}
}

func TestRealStores(t *testing.T) {
	for _, protocol := range []string{"redis", "memcached"} {
		s := real(t, protocol)
		for _, settings := range []parameter.Settings{
			{"keys": "20000"},
			{"keys": "20000", "pipeline": "32", "law": "zipf", "value": "1B/30:100B/50:64KiB/20", "connections": "8"},
			{"keys": "20000", "rate": "5000/s", "arrivals": "poisson", "tick": "1ms"},
			{"keys": "20000", "threads": "2", "read": "0%", "fill": "false"},
		} {
			settings["protocol"] = protocol
			if protocol == "memcached" { // its memory holds the smaller values alone
				settings["keys"] = "3000"
			}
			prepare(t, s, settings)
			if settings["fill"] == "" {
				want := settings["keys"][:len(settings["keys"])-1] + "1"
				if got := s.keys(t, protocol); got != want {
					t.Errorf("%s keys, want %s", got, want)
				}
			}
			r := runFor(t, s, settings, 3000)
			if r.all.Operations < 500 || r.all.Errors > 0 || r.Values()["misses"] > 0 {
				t.Errorf("%s %v: %d operations, %d errors, values %v", protocol, settings, r.all.Operations, r.all.Errors, r.Values())
			}
			for _, c := range r.checks {
				if c.State != measure.Pass && c.Name != "generator" { // which is the machine's affair
					t.Errorf("%s %v: %+v", protocol, settings, c)
				}
			}
			t.Logf("%s %v: %d operations, %.2g s of client CPU each", protocol, settings, r.all.Operations, r.Values()["client.cpu_per_operation"])
		}
		if err := made(t, parameter.Settings{"protocol": protocol}).Clean(t.Context(), s.env()); err != nil {
			t.Fatal(err)
		}
		if got := s.keys(t, protocol); got != "0" {
			t.Errorf("%s keys of %s after Clean", got, protocol)
		}
	}
}

// A store too small for the keys says so, or forgets some silently.
func TestRealStoresThatAreTooSmall(t *testing.T) {
	for _, c := range []struct {
		name, protocol string
		options        []string
		want           string
	}{
		{"full", "redis", []string{"--maxmemory", "8mb"}, "values: -OOM command not allowed"},
		{"evicting", "redis", []string{"--maxmemory", "8mb", "--maxmemory-policy", "allkeys-lru"}, "keys are gone after they were written: give the store more memory"},
		{"evicting", "memcached", []string{"-m", "8"}, "keys are gone after they were written: give the store more memory"},
		{"small items", "memcached", nil, "values: SERVER_ERROR object too large for cache"},
	} {
		t.Run(fmt.Sprint(c.protocol, " ", c.name), func(t *testing.T) {
			s := real(t, c.protocol, c.options...)
			settings := parameter.Settings{"protocol": c.protocol, "keys": "3000", "value": "8KiB"}
			if c.name == "small items" { // of 1 MiB at most
				settings["keys"], settings["value"] = "10", "2MiB"
			}
			if err := made(t, settings).Prepare(t.Context(), s.env()); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
			if c.name != "evicting" {
				return
			}
			settings["misses"] = "90%"
			prepare(t, s, settings)
			r := runFor(t, s, settings, 3000)
			if v := r.Values()["misses"]; v < .2 || v > .9 || r.all.Errors > 0 {
				t.Errorf("%.2f of the reads missed; %+v", v, r.all)
			}
			if data := r.checks["data"]; data.State != measure.Pass || !strings.Contains(data.Detail, "account for") {
				t.Errorf("evictions are taken for loss: %+v", data)
			}
		})
	}
}

// Many writers of few keys are answered in whatever order the threads of a store come to, and
// a key that is removed behind its back is missed.
func TestRealFewKeys(t *testing.T) {
	for protocol, options := range map[string][]string{"redis": nil, "memcached": {"-t", "4"}} {
		s := real(t, protocol, options...)
		settings := parameter.Settings{"protocol": protocol, "keys": "5", "read": "50%", "connections": "32", "pipeline": "8", "threads": "2", "value": "100B"}
		prepare(t, s, settings)
		for range 3 {
			if data := run(t, s, settings, 500*time.Millisecond).checks["data"]; data.State != measure.Pass {
				t.Errorf("%s: %+v", protocol, data)
			}
		}
		settings["read"], settings["misses"] = "100%", "100%"
		if protocol == "redis" {
			s.says(t, protocol, "DEL plimsoll:0000000003", "\r\n")
		} else {
			s.says(t, protocol, "delete plimsoll:0000000003", "\r\n")
		}
		if data := run(t, s, settings, 200*time.Millisecond).checks["data"]; data.State != measure.Fail || !strings.Contains(data.Detail, "1 keys are missing") {
			t.Errorf("%s: %+v", protocol, data)
		}
	}
}

func TestRealPassword(t *testing.T) {
	if os.Getenv("PLIMSOLL_REAL") == "" {
		t.Skip("set PLIMSOLL_REAL=1 to test with redis-server")
	}
	s := real(t, "redis")
	s.says(t, "redis", "CONFIG SET requirepass secret", "\r\n")
	if _, err := made(t, nil).Check(t.Context(), s.env()); err == nil || !strings.Contains(err.Error(), "NOAUTH") {
		t.Errorf("got %v", err)
	}
}
