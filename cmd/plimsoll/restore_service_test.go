package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/parameter"
	"plimsoll/internal/service/responder"
)

// store starts a server that plimsoll does not know of, and returns where it speaks
// the protocol of memcached.
func (r *rig) store() string {
	r.t.Helper()
	settings := parameter.Settings{}
	for _, f := range parameter.Fields(responder.Kind().Defaults) {
		if settings[f.Name] = f.Default; f.Default == "" && f.Kind == parameter.KindDuration {
			settings[f.Name] = "0s"
		}
	}
	order, err := json.Marshal(map[string]any{"settings": settings, "seed": 1})
	if err != nil {
		r.t.Fatal(err)
	}
	c := exec.Command("plimsoll", responder.Command)
	c.Stdin = strings.NewReader(string(order))
	said, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() {
		c.Process.Kill()
		c.Wait()
	})
	line, err := bufio.NewReader(said).ReadBytes('\n')
	if err != nil {
		r.t.Fatal(err)
	}
	var greeting struct{ Listening map[string]string }
	if err := json.Unmarshal(line, &greeting); err != nil {
		r.t.Fatal(err)
	}
	return greeting.Listening["memcached"]
}

// held is how many values lie in a store.
func (r *rig) held(address string) int {
	r.t.Helper()
	conn, err := net.DialTimeout("tcp", address, 5*time.Second)
	if err != nil {
		r.t.Fatal(err)
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(5 * time.Second))
	if _, err := fmt.Fprint(conn, "stats\r\n"); err != nil {
		r.t.Fatal(err)
	}
	lines := bufio.NewScanner(conn)
	for lines.Scan() && lines.Text() != "END" {
		if text, ok := strings.CutPrefix(lines.Text(), "STAT curr_items "); ok {
			n, err := strconv.Atoi(text)
			if err != nil {
				r.t.Fatal(err)
			}
			return n
		}
	}
	r.t.Fatalf("the store does not say how many values it holds: %v", lines.Err())
	return 0
}

// What a run that was killed left in a server that it did not start is removed, and
// nothing else is.
func TestRestoreCleansAServerThatStays(t *testing.T) {
	t.Parallel()
	r := &rig{t: t, dir: t.TempDir()}
	at := r.store()
	conn, err := net.Dial("tcp", at)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := fmt.Fprint(conn, "set mine 0 0 1\r\nx\r\n"); err != nil {
		t.Fatal(err)
	}
	if answer, err := bufio.NewReader(conn).ReadString('\n'); err != nil || answer != "STORED\r\n" {
		t.Fatalf("%q, %v", answer, err)
	}
	text := `study: left
question: Is everything removed?
platform: local
workload:
  keyvalue: {protocol: memcached, keys: 300, connections: 2, threads: 1, rate: 100/s, tick: 20ms}
service: {memcached: {address: "` + at + `"}}
measure: {settle: 10ms, warmup: 100ms, window: 5s, interval: 100ms, blocks: 3, retries: 100}
headline: [operations]
`
	if err := os.WriteFile(filepath.Join(r.dir, "study.yaml"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	r.killed("the store was filled", func() bool { return r.held(at) > 300 })
	if n := r.held(at); n <= 300 {
		t.Fatalf("the run was killed, and %d values are left", n)
	}
	said := r.must("restore", "out")
	if want := "removed the data of workload keyvalue from the service memcached at " + at; !strings.Contains(said, want) {
		t.Errorf("restore said %q, want %q", said, want)
	}
	if n := r.held(at); n != 1 {
		t.Errorf("%d values are in the store after restore, want the one of somebody else", n)
	}
}
