package cassandra

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"plimsoll/internal/cql"
	"plimsoll/internal/cql/cqltest"
	"plimsoll/internal/load"
	"plimsoll/internal/parameter"
	"plimsoll/internal/platform"
	"plimsoll/internal/service"
)

func TestSettingsThatMakeNoSense(t *testing.T) {
	for _, c := range []struct {
		settings parameter.Settings
		want     string
	}{
		{parameter.Settings{"address": "/run/socket"}, "must be host:port"},
		{parameter.Settings{"address": "a:1", "database": "d"}, "unknown key"},
		{parameter.Settings{"address": "a:1", "heap": "2GiB"}, "heap cannot be set on a server you provide"},
		{parameter.Settings{"address": "a:1,/run/socket"}, "must be host:port"},
		{parameter.Settings{"commitlog_sync": "group", "commitlog_sync_period": "10s"}, "at most 1s"},
		{parameter.Settings{"commitlog_sync": "batch", "commitlog_sync_period": "5ms"}, "not for commitlog_sync batch"},
	} {
		if _, err := Kind().New(c.settings); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v gives %v", c.settings, err)
		}
	}
	s, err := Kind().New(parameter.Settings{"address": "a:1, b:2", "user": "me", "password": "file:/p"})
	if err != nil {
		t.Fatal(err)
	}
	if e := s.(*service.Existing).Endpoint; e.Address != "a:1" || fmt.Sprint(e.More) != "[b:2]" || e.Secret != "file:/p" {
		t.Errorf("the endpoint is %+v", e)
	}
}

func TestConfig(t *testing.T) {
	s := defaults()
	s.Nodes, s.CommitLogSync = 3, "group"
	place := service.Location{Host: service.Loopback, Dir: "/d", Ports: []int{7000, 7100, 9042}}
	nodes := s.nodes(place)
	for i, want := range []string{"-9223372036854775808", "-3074457345618258604", "3074457345618258600"} {
		text := string(s.config(nodes[i]))
		for _, line := range []string{
			"initial_token: \"" + want + "\"\n", fmt.Sprintf("rpc_address: 127.0.0.%d\n", i+1), "seeds: \"127.0.0.1:7000\"",
			"commitlog_sync_group_window: 10ms\n", fmt.Sprintf("data_file_directories: [\"/d/%d/data\"]\n", i), "compaction_throughput: 64MiB/s\n",
		} {
			if !strings.Contains(text, line) {
				t.Errorf("node %d: there is no %q in\n%s", i, line, text)
			}
		}
	}
	d, err := s.daemon(nil, place, "java")
	if err != nil {
		t.Fatal(err)
	}
	if text := strings.Join(d.Argv, " "); !strings.Contains(text, "-Xmx1024m") || !strings.Contains(text, "UseG1GC") {
		t.Errorf("it starts %s", text)
	}
}

func TestCanonical(t *testing.T) {
	for value, want := range map[string]string{"10000ms": "10s", "512MiB": "512MiB", "64MiB/s": "64MiB", "1024M": "1024M", "1024MiB": "1GiB", "periodic": "periodic", "32": "32", "0MiB/s": "0B"} {
		if got := canonical(value); got != want {
			t.Errorf("%s is %s, not %s", value, got, want)
		}
	}
}

// A missing or unexpected jar is reported, and files not on the list are removed.
func TestJars(t *testing.T) {
	if n := len(sums()); n != 92 {
		t.Errorf("the list has %d jars", n)
	}
	dir := t.TempDir()
	if err := verify(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("an empty folder gives %v", err)
	}
	for name := range sums() {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("x"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "other-osx.jar"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := weed(dir); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "other-osx.jar")); !errors.Is(err, fs.ErrNotExist) {
		t.Error("a jar that is not on the list is still there")
	}
	if err := verify(dir); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("%x", sha256.Sum256([]byte("x")))) {
		t.Errorf("other jars give %v", err)
	}
}

// host is a machine with or without Java and jars.
type host struct {
	platform.Machine
	java, check, memory string
}

func (h host) Run(_ context.Context, c platform.Command) (platform.Result, error) {
	switch {
	case c.Argv[0] == "java" && h.java != "":
		return platform.Result{Stderr: []byte(h.java)}, nil
	case c.Argv[0] == "sh" && strings.Contains(c.Argv[2], "printf"):
		return platform.Result{Stdout: []byte("/c/plimsoll/cassandra-5.0.4")}, nil
	case c.Argv[0] == "sh" && h.check == "":
		return platform.Result{}, nil
	case c.Argv[0] == "sh":
		return platform.Result{Exit: 1, Stdout: []byte(strings.TrimSpace(h.check))}, nil
	}
	return platform.Result{}, fs.ErrNotExist
}

func (h host) ReadFile(context.Context, string) ([]byte, error) {
	return []byte("MemTotal: " + h.memory + " kB\n"), nil
}

func TestCheckNamesWhatIsLacking(t *testing.T) {
	for _, c := range []struct {
		host host
		want string
	}{
		{host{}, "java 17 is not installed on this machine: apt install openjdk-17-jre-headless"},
		{host{java: `openjdk version "21.0.1"`}, "is Java 21.0.1, but Cassandra 5.0.4 needs Java 17 or 11"},
		{host{java: `openjdk version "17.0.15"`, check: " "}, "are not in /c/plimsoll/cassandra-5.0.4: fetch them with plimsoll service cassandra fetch"},
		{host{java: `openjdk version "17.0.15"`, check: "ecj.jar: FAILED"}, "ecj.jar: FAILED"},
		{host{java: `openjdk version "17.0.15"`, memory: "1048580"}, "take about 1.54GiB, but this host has 1.00GiB: lower heap or nodes"},
		{host{java: `openjdk version "17.0.15"`, memory: "8388608"}, ""},
	} {
		s, err := Kind().New(nil)
		if err != nil {
			t.Fatal(err)
		}
		needs, err := s.Check(t.Context(), service.Env{Machine: c.host})
		if c.want == "" && (err != nil || needs.Versions["java"] != "17.0.15") || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%+v: %+v, %v", c.host, needs, err)
		}
	}
}

// Fetching names the missing jars, rejects unknown ones, and leaves no files after a failure.
func TestFetch(t *testing.T) {
	programs, cache := t.TempDir(), t.TempDir()
	t.Setenv("PATH", programs)
	folder := Folder(cache)
	if err := Fetch(t.Context(), folder); err == nil || !strings.Contains(err.Error(), "apt install maven") {
		t.Errorf("without Maven: %v", err)
	}
	for script, want := range map[string]string{
		"echo some; echo no such artifact; exit 1": "no such artifact",
		"/bin/mkdir jars":                          "is missing",
	} {
		if err := os.WriteFile(filepath.Join(programs, "mvn"), []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := Fetch(t.Context(), folder); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s gives %v", script, err)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(folder), "*")); len(left) > 0 {
		t.Errorf("there is %v", left)
	}
}

// Only a node that has left its ring is reported so, not one that does not respond. State
// common to all nodes comes from the first that responds.
func TestNodeThatLeft(t *testing.T) {
	servers := []*cqltest.Server{{Tokens: "1"}, {Tokens: "2"}, {Tokens: "3"}}
	ring := cqltest.NewRing(servers...)
	at := load.Endpoint{Network: "tcp"}
	for _, s := range servers {
		address, err := s.Listen()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(s.Close)
		at.More = append(at.More, address)
	}
	at.Address, at.More = at.More[0], at.More[1:]
	c := newClient(nil, at)
	servers[0].Close()
	ask := func(ctx context.Context, node service.SQLSession) error { _, err := cql.Members(ctx, node); return err }
	if err := c.each(t.Context(), ask); err == nil || !strings.Contains(err.Error(), "nothing listens at "+at.Address) {
		t.Errorf("a node that is down: %v", err)
	}
	ring.Leave(servers[0])
	if err := c.each(t.Context(), ask); err == nil || !strings.Contains(err.Error(), "the node at "+at.Address+" has left the ring (2 still in it)") {
		t.Errorf("a node that has left: %v", err)
	}
	if version, err := release(t.Context(), nil, at); version != "5.0" || err != nil {
		t.Errorf("the ring is version %q, %v", version, err)
	}
	if rows, err := c.Ask(t.Context(), "SELECT tokens FROM system.local"); err != nil || fmt.Sprint(rows) != "[[2]]" {
		t.Errorf("the others say %v, %v", rows, err)
	}
}
