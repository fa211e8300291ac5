package cqliot

import (
	"crypto/tls"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/cql/cqltest"
	"plimsoll/internal/load"
	"plimsoll/internal/load/loadtest"
	"plimsoll/internal/parameter"
	"plimsoll/internal/service"
	"plimsoll/internal/workload"
	"plimsoll/internal/workload/cqliot/driver"
	"plimsoll/internal/workload/workloadtest"
)

// fake is where servers can be reached that are none.
func fake(t *testing.T, servers ...*cqltest.Server) workload.Env {
	t.Helper()
	e := load.Endpoint{Network: "tcp"}
	for i, s := range servers {
		address, err := s.Listen()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(s.Close)
		if i == 0 {
			e.Address = address
		} else {
			e.More = append(e.More, address)
		}
	}
	return workload.Env{Seed: 7, Target: func(string) (load.Endpoint, error) { return e, nil }, Log: t.Logf}
}

func TestContract(t *testing.T) {
	env := fake(t, &cqltest.Server{Keep: true, Tokens: "0"})
	workloadtest.Run(t, Kind(driver.Open), workloadtest.Options{
		Settings: []parameter.Settings{
			{"rampup": "500", "connections": "2"}, {"mode": "faithful", "rampup": "500", "rate": "500/s", "tick": "1ms", "arrivals": "poisson", "protocol": "4", "threads": "2"},
			{"rampup": "100", "read_ratio": "0", "think": "2ms"},
		},
		Env:    func(*testing.T) workload.Env { return env },
		Length: loadtest.Short(160 * time.Millisecond),
	})
}

// little is how long a load runs where nothing else is said.
const little = 160 * time.Millisecond

// What was acknowledged and is lost is noticed; so is a server that closes the connection, and the
// load goes on.
func TestWhatIsLost(t *testing.T) {
	t.Parallel()
	s := &cqltest.Server{Keep: true, Tokens: "0"}
	env := fake(t, s)
	settings := parameter.Settings{"rampup": "500", "connections": "2"}
	if out := trial(t, env, settings, little); !passes(t, out, "data") || !passes(t, out, "found") {
		t.Error("a server that keeps what it gets does not pass")
	}
	out := eventful(t, env, settings, little, s.HangUp)
	if done, failed := counted(out); failed == 0 || failed > 200 || done < 20 {
		t.Errorf("with a server that closes the connection once, %d done and %d failed", done, failed)
	}
	// So is one that forgets what was prepared, for which connections are made anew.
	out = eventful(t, env, settings, little, s.Forget)
	if done, failed := counted(out); failed == 0 || failed > 200 || done < 20 {
		t.Errorf("with a server that forgets statements, %d done and %d failed", done, failed)
	}
	if out := eventful(t, env, settings, little, s.Lose); passes(t, out, "data") {
		t.Error("lost rows are not noticed")
	}
}

// Filling tells a server that is slow, or forgets, from one that does not take rows at all.
func TestFilling(t *testing.T) {
	for slow, want := range map[int]string{5: "", 1 << 20: "timed out"} {
		s := &cqltest.Server{Keep: true, Tokens: "0", Slow: slow}
		env := fake(t, s)
		l, err := Kind(driver.Open).New(parameter.Settings{"rampup": "400"})
		if err != nil {
			t.Fatal(err)
		}
		err = l.Prepare(t.Context(), env)
		if want == "" && err != nil || want != "" && !oneLine(err, want) {
			t.Errorf("%d writes too slow: %v", slow, err)
		}
		if want != "" {
			continue
		}
		c, err := l.(*iot).begin(t.Context(), env)
		if err != nil {
			t.Fatal(err)
		}
		var all []int64
		for cycle := range int64(400) {
			all = append(all, cycle)
		}
		if wrong, why, err := c.verify(t.Context(), all); wrong != 0 || err != nil {
			t.Errorf("%d rows are wrong%s, %v", wrong, why, err)
		}
	}
}

// Of several nodes each gets what it holds.
func TestRing(t *testing.T) {
	t.Parallel()
	a, b := &cqltest.Server{Keep: true, Tokens: "-5000000000000000000"}, &cqltest.Server{Keep: true, Tokens: "5000000000000000000"}
	out := trial(t, fake(t, a, b), parameter.Settings{"mode": "faithful", "rampup": "0", "read_ratio": "0", "threads": "2"}, little)
	if done, failed := counted(out); done < 20 || failed > 0 || out.Values()["elsewhere"] > .25 { // by chance it would be half
		t.Errorf("%d done, %d failed, %v", done, failed, out.Values())
	}
}

// A password is asked for and given, over TLS as well.
func TestPasswordAndTLS(t *testing.T) {
	t.Parallel()
	c, err := service.NewCertificate()
	if err != nil {
		t.Fatal(err)
	}
	pair, err := tls.X509KeyPair(c.Cert, c.Key)
	if err != nil {
		t.Fatal(err)
	}
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("sesame"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, secure := range []bool{false, true} {
		s := &cqltest.Server{Keep: true, Tokens: "0", User: "ali", Password: "sesame"}
		if secure {
			s.TLS = &tls.Config{Certificates: []tls.Certificate{pair}}
		}
		env := fake(t, s)
		at, _ := env.Target(protocol)
		at.User, at.Secret = "ali", "file:"+secret
		if secure {
			at.CA = c.CA
		}
		env.Target = func(string) (load.Endpoint, error) { return at, nil }
		out := trial(t, env, parameter.Settings{"rampup": "200"}, little)
		if done, failed := counted(out); done < 50 || failed > 0 || !passes(t, out, "data") {
			t.Errorf("TLS %t: %d done, %d failed", secure, done, failed)
		}
		at.Secret = ""
		l, err := Kind(driver.Open).New(nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := l.Prepare(t.Context(), env); err == nil || !strings.Contains(err.Error(), "incorrect (bad credentials)") || strings.Contains(err.Error(), "\n") {
			t.Errorf("a wrong password gives %v", err)
		}
	}
}
