package dvdstore

import (
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"plimsoll/internal/load"
	"plimsoll/internal/measure"
	"plimsoll/internal/parameter"
	"plimsoll/internal/postgres"
	"plimsoll/internal/workload"
	"plimsoll/internal/workload/workloadtest"
)

// server is a real server of the distribution on a free port of the loopback device.
type server struct {
	dir, bin string
	at       load.Endpoint
	process  *exec.Cmd
}

func real(t *testing.T) *server {
	t.Helper()
	if os.Getenv("PLIMSOLL_REAL") == "" {
		t.Skip("set PLIMSOLL_REAL=1 to test with the real postgres")
	}
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/postgres")
	if err != nil || len(found) == 0 {
		t.Fatal("postgres is not installed: ./setup test")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &server{bin: filepath.Dir(found[len(found)-1]), at: load.Endpoint{Network: "tcp", Address: l.Addr().String(), User: "postgres", Database: "postgres"}}
	l.Close()
	if s.dir, err = os.MkdirTemp("", "dvdstore"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(s.dir) })
	if os.Getuid() == 0 {
		if err := os.Chown(s.dir, 65534, 65534); err != nil {
			t.Fatal(err)
		}
	}
	if said, err := s.command("initdb", "-D", s.dir+"/data", "-U", "postgres", "-A", "trust", "--no-sync", "--locale=C", "-E", "UTF8").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	s.start(t)
	t.Cleanup(func() { s.end(syscall.SIGINT) })
	return s
}

// command runs a program as nobody, because PostgreSQL refuses to run as root.
func (s *server) command(name string, words ...string) *exec.Cmd {
	c := exec.Command(filepath.Join(s.bin, name), words...)
	c.Dir = s.dir
	c.SysProcAttr = &syscall.SysProcAttr{}
	if os.Getuid() == 0 {
		c.SysProcAttr.Credential = &syscall.Credential{Uid: 65534, Gid: 65534}
	}
	return c
}

func (s *server) start(t *testing.T) {
	t.Helper()
	_, port, _ := net.SplitHostPort(s.at.Address)
	s.process = s.command("postgres", "-D", s.dir+"/data", "-p", port, "-h", "127.0.0.1", "-k", "", "-c", "max_wal_size=256MB", "-c", "shared_buffers=64MB", "-c", "fsync=off")
	if err := s.process.Start(); err != nil {
		t.Fatal(err)
	}
	for over := time.Now().Add(20 * time.Second); ; {
		c, err := postgres.Dial(t.Context(), s.place(), "")
		if err == nil {
			c.Close()
			return
		} else if time.Now().After(over) {
			t.Fatal(err)
		}
		<-time.After(20 * time.Millisecond)
	}
}

func (s *server) place() postgres.Place {
	return s.places()[0]
}

func (s *server) places() []postgres.Place {
	p, _ := targets(s.env())
	return p
}

func (s *server) end(how syscall.Signal) {
	s.process.Process.Signal(how)
	s.process.Wait()
}

func (s *server) env() workload.Env {
	return workload.Env{Seed: 7, Target: func(string) (load.Endpoint, error) { return s.at, nil }, Log: func(string, ...any) {}}
}

func made(t *testing.T, settings parameter.Settings) *store {
	t.Helper()
	l, err := Kind().New(settings)
	if err != nil {
		t.Fatal(err)
	}
	return l.(*store)
}

var small = parameter.Settings{"size": "50kB", "reviews_per_product": "5", "connections": "4"}

func with(more parameter.Settings) parameter.Settings {
	all := maps.Clone(small)
	maps.Copy(all, more)
	return all
}

func TestRealContract(t *testing.T) {
	s := real(t)
	workloadtest.Run(t, Kind(), workloadtest.Options{
		Settings: []parameter.Settings{
			with(nil),
			with(parameter.Settings{"mode": "faithful", "rate": "300/s", "arrivals": "poisson", "tick": "1ms"}),
			with(parameter.Settings{"think": "5ms", "reset": "false", "threads": "2"}),
		},
		Env:    func(*testing.T) workload.Env { return s.env() },
		Length: 800 * time.Millisecond,
	})
}

// run prepares a load, runs it and is what it recorded.
func run(t *testing.T, d *store, env workload.Env, length time.Duration) *measure.Recorder {
	t.Helper()
	if err := d.Prepare(t.Context(), env); err != nil {
		t.Fatal(err)
	}
	out := measure.NewRecorder(nil)
	if err := d.Run(t.Context(), env, load.Stage{Length: length, Interval: length / 4, Seed: 5}, out); err != nil {
		t.Fatal(err)
	}
	return out
}

func check(t *testing.T, out *measure.Recorder, name string) measure.Check {
	t.Helper()
	for _, c := range out.Checks() {
		if c.Name == name {
			return c
		}
	}
	t.Fatalf("there is no check %s", name)
	return measure.Check{}
}

// Every kind of call is made, in both modes, and the checks hold.
func TestRealShop(t *testing.T) {
	s := real(t)
	for _, mode := range []string{sound, faithful} {
		d := made(t, with(parameter.Settings{"mode": mode, "connections": "8", "new_members": "20%"}))
		env := s.env()
		env.Log = t.Logf
		out := run(t, d, env, 2*time.Second)
		var done [classes]int64
		for _, in := range out.Intervals() {
			for k, sample := range in.Samples {
				done[k] += sample.Operations
				if sample.Errors > 0 {
					t.Errorf("%s, %s: %d errors", mode, names[k], sample.Errors)
				}
			}
		}
		t.Log(mode, done, out.Values())
		for _, c := range out.Checks() {
			t.Log(c)
		}
		for k, n := range done {
			if n == 0 {
				t.Errorf("%s: no %s was done", mode, names[k])
			}
		}
		for _, name := range []string{"distribution", "server's mix", "data"} {
			if c := check(t, out, name); c.State != measure.Pass {
				t.Errorf("%s: %+v", mode, c)
			}
		}
	}
}
