package cqliot

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"plimsoll/internal/cql"
	"plimsoll/internal/load"
	"plimsoll/internal/measure"
	"plimsoll/internal/parameter"
)

// Nodes join a ring and leave it in good order while a load is on, as an administrator
// has them do: operations go to those that hold the rows then, and none is lost.
func TestRealRingChanges(t *testing.T) {
	if os.Getenv("PLIMSOLL_DEEP") == "" {
		t.Skip("set PLIMSOLL_REAL=1 PLIMSOLL_DEEP=1 to have nodes of Cassandra join a ring and leave it, which takes two minutes and 2 GB")
	}
	s := serve(t, parameter.Settings{"nodes": "2"})
	t.Run("joins own", func(t *testing.T) { joins(t, s, 2, ownDriver) })
	t.Run("leaves own", func(t *testing.T) { leaves(t, s, s.with(2), 2, ownDriver) })
	t.Run("joins gocql", func(t *testing.T) { joins(t, s, 3, "gocql") })
	t.Run("first leaves", func(t *testing.T) {
		firstLeaves(t, s, s.with(3), replicated("2", parameter.Settings{"write_consistency": "two"}))
	})
	without := s.with(3)
	without.Address, without.More = without.More[0], without.More[1:]
	t.Run("leaves gocql", func(t *testing.T) { leaves(t, s, without, 3, "gocql") })
}

// administer has a node do what an administrator asks of it, by the program nodetool that
// comes with the server. Its home is the folder of the server, so that nothing stays.
func (s *server) administer(t *testing.T, number int, words ...string) {
	t.Helper()
	_, argv := s.node(t, number)
	if len(argv) == 0 {
		return
	}
	port, java := "", []string{"-Xmx64m", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData", "-Dcom.sun.jndi.rmiURLParsing=legacy", "-Duser.home=" + s.dir, "-Djava.io.tmpdir=" + s.dir}
	for n, word := range argv {
		if value, ok := strings.CutPrefix(word, "-Dcassandra.jmx.local.port="); ok {
			port = value
		}
		if strings.HasPrefix(word, "--add-") {
			java = append(java, word, argv[n+1])
		}
	}
	c := exec.CommandContext(t.Context(), argv[0], slices.Concat(java, []string{
		"-cp", filepath.Join(s.dir, "lib", "*"), "org.apache.cassandra.tools.NodeTool", "-h", "127.0.0.1", "-p", port,
	}, words)...)
	c.Dir = s.dir
	if said, err := c.CombinedOutput(); err != nil {
		t.Errorf("nodetool %v: %v: %s", words, err, said)
	}
}

// with is the ring with a further node.
func (s *server) with(number int) load.Endpoint {
	at := s.at
	at.More = append(slices.Clone(at.More), strings.Replace(at.More[0], "127.0.0.2", fmt.Sprintf("127.0.0.%d", number+1), 1))
	return at
}

// join has a node join a ring of two, with half of what the first has, and returns when it
// is in it. Its number must be new: for a while others do not talk to who was there before.
func (s *server) join(t *testing.T, number int) {
	t.Helper()
	_, argv := s.node(t, 1)
	config, err := os.ReadFile(filepath.Join(s.dir, "1.yaml"))
	if err != nil || len(argv) == 0 {
		t.Error(err)
		return
	}
	text := strings.NewReplacer("127.0.0.2", fmt.Sprintf("127.0.0.%d", number+1), s.dir+"/1/", fmt.Sprintf("%s/%d/", s.dir, number), "auto_bootstrap: false", "auto_bootstrap: true", `initial_token: "0"`, `initial_token: "4611686018427387904"`).Replace(string(config))
	here, owner := filepath.Join(s.dir, strconv.Itoa(number)), os.Getuid()
	if info, err := os.Stat(s.dir); err == nil {
		owner = int(info.Sys().(*syscall.Stat_t).Uid)
	}
	for _, err := range []error{
		os.MkdirAll(filepath.Join(here, "tmp"), 0o755), os.WriteFile(here+".yaml", []byte(text), 0o644),
		os.Chown(here, owner, -1), os.Chown(filepath.Join(here, "tmp"), owner, -1),
	} {
		if err != nil {
			t.Error(err)
			return
		}
	}
	for n, word := range argv {
		word = strings.NewReplacer(s.dir+"/1", fmt.Sprintf("%s/%d", s.dir, number), "ring_delay_ms=60000", "ring_delay_ms=4000").Replace(word)
		if port, ok := strings.CutPrefix(word, "-Dcassandra.jmx.local.port="); ok {
			other, _ := strconv.Atoi(port)
			word = fmt.Sprintf("-Dcassandra.jmx.local.port=%d", other+number-1)
		}
		argv[n] = word
	}
	s.start(t, number, argv, "")
	at := s.with(number)
	at.Address, at.More = at.More[1], nil
	await(t, at)
}

// members is how many nodes are in the ring, as its second node says.
func (s *server) members(t *testing.T) int {
	t.Helper()
	at := s.at
	at.Address, at.More = s.at.More[0], nil
	place, err := cql.At(at, cql.V4)
	if err != nil {
		t.Fatal(err)
	}
	c, err := cql.Dial(t.Context(), place)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	all, err := cql.Members(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return len(all)
}

// joins: a node that joins takes its part of the rows. Operations fail only at the instant
// at which one node knows of it and another does not. The load does not know its address,
// and the certificate says so.
func joins(t *testing.T, s *server, number int, driver string) {
	address := s.with(number).More[1]
	settings := replicated("2", parameter.Settings{"driver": driver, "rate": "", "think": "20ms", "write_consistency": "two"})
	o := through(t, s.at, settings, 120, func() { s.join(t, number) }, 4)
	if o.err != nil || total(o.done) < 1000 || total(o.failed) > total(o.done)/100 || o.check["data"].State != measure.Pass || !strings.Contains(o.check["ring"].Detail, address+" joined it") || s.members(t) != 3 {
		t.Errorf("%d are in the ring, %+v", s.members(t), o)
	}
}

// leaves: with one replica, all rows are at another node when one has left, and each
// operation goes to the node that has its row. Our own client hears of it in time.
func leaves(t *testing.T, s *server, at load.Endpoint, number int, driver string) {
	leaving, rest := at.More[len(at.More)-1], at
	rest.More = at.More[:len(at.More)-1]
	settings := replicated("1", parameter.Settings{"driver": driver, "rate": "", "think": "20ms"})
	o := through(t, at, settings, 120, func() {
		s.administer(t, number, "decommission", "--force")
		<-time.After(time.Second)
		coordinated, _, sent := counts(t, rest)
		<-time.After(3 * time.Second)
		coordinates, _, sends := counts(t, rest)
		messages, by := total(sends)-total(sent), total(coordinates)-total(coordinated)
		t.Logf("after that nodes coordinated %d operations, %v and %v, and sent each other %d messages", by, coordinated, coordinates, messages)
		if driver == ownDriver && messages > by/5 || by < 200 {
			t.Errorf("after that nodes coordinated %d operations and sent each other %d messages", by, messages)
		}
	}, 2)
	last := len(o.done) - 1
	if o.err != nil || total(o.done) < 1000 || o.failed[last] > 0 || o.check["data"].State != measure.Pass || !strings.Contains(o.check["ring"].Detail, leaving+" left it") {
		t.Errorf("%+v", o)
	}
	if failed := total(o.failed); driver == ownDriver && failed > 0 || failed > total(o.done)/10 {
		t.Errorf("%d operations failed", failed)
	}
	if pid, _ := s.node(t, number); pid > 0 {
		_ = syscall.Kill(pid, syscall.SIGKILL) // it has left, and lives on
	}
	o = during(t, at, settings, 1, func() {})
	if !oneLine(o.err, fmt.Sprintf("%s has left the ring (%d still in it)", leaving, len(rest.More)+1)) {
		t.Errorf("the next load: %v", o.err)
	}
}

// firstLeaves: the node that goes first is the one that tells of the ring, and is
// asked for the data afterwards. What is under way there may fail.
func firstLeaves(t *testing.T, s *server, at load.Endpoint, settings parameter.Settings) {
	settings["think"], settings["timeout"] = "5ms", "5s"
	delete(settings, "rate")
	o := through(t, at, settings, 120, func() { s.administer(t, 0, "decommission", "--force") }, 6)
	last := len(o.done) - 1
	if o.err != nil || total(o.done) < 1000 || o.failed[last] > 0 || o.done[last] == 0 || total(o.failed) > 100 || o.check["data"].State != measure.Pass || !strings.Contains(o.check["ring"].Detail, s.at.Address+" left it") {
		t.Errorf("%+v", o)
	}
}

// TLS is spoken with each node of a ring under its own name, and each row goes to the node
// that holds it. A node leaves that ring as well.
func TestRealRingTLS(t *testing.T) {
	if os.Getenv("PLIMSOLL_DEEP") == "" {
		t.Skip("set PLIMSOLL_REAL=1 PLIMSOLL_DEEP=1 to start a ring of Cassandra that speaks TLS, which takes half a minute and 1.5 GB")
	}
	s := serve(t, parameter.Settings{"nodes": "2", "tls": "true"})
	t.Run("routed", func(t *testing.T) { routed(t, s) })
	for _, settings := range []parameter.Settings{{"protocol": "4"}, {"driver": "gocql"}} {
		o := during(t, s.at, replicated("2", settings), 4, func() {})
		if o.err != nil || total(o.done) < 200 || total(o.failed) > 0 || o.check["data"].State != measure.Pass || o.check["ring"].State != measure.Pass {
			t.Errorf("%v: %+v", settings, o)
		}
	}
	t.Run("first leaves", func(t *testing.T) { firstLeaves(t, s, s.at, replicated("1", nil)) })
}
