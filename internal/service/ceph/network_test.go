package ceph

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/parameter"
)

func TestAddresses(t *testing.T) {
	seen := map[string]int{}
	for port := 1024; port < 1<<16; port += 2 {
		near, far := addresses(port)
		if seen[near] > 0 || near == far {
			t.Fatalf("ports %d and %d share %s", seen[near], port, near)
		}
		seen[near] = port
	}
	if near, far := addresses(65535); near != "198.19.255.253" || far != "198.19.255.254" {
		t.Errorf("%s, %s", near, far)
	}
}

func TestShaping(t *testing.T) {
	if got := (Settings{Bandwidth: 100 << 20}).shaping(); got != "tbf rate 838860800bit burst 1048576b limit 16777216b" {
		t.Errorf("%q", got)
	}
	for text, want := range map[string]parameter.Bytes{
		`[{"kind":"tbf","handle":"800e:","root":true,"refcnt":2,"options":{"rate":10000000,"burst":262140,"lat":1651507}}]`: 1e7,
		`[{"kind":"noqueue","handle":"0:","root":true,"refcnt":2,"options":{}}]`:                                            0,
	} {
		if got, err := parseShaping([]byte(text)); err != nil || got != want {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
	if _, err := parseShaping(nil); err == nil {
		t.Error("no answer is taken for one")
	}
	if _, err := Kind().New(parameter.Settings{"network_rate": "1MiB"}); err == nil || !strings.Contains(err.Error(), "set network: namespace") {
		t.Error(err)
	}
}

// written is the rate at which 1 MiB writes go to an image, in bytes per second.
func written(t *testing.T, conf string) float64 {
	t.Helper()
	const size = 24 << 20
	rbd := func(argv ...string) {
		t.Helper()
		c := exec.CommandContext(t.Context(), "rbd", append([]string{"--conf", conf, "--pool", pool}, argv...)...)
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("rbd %q: %v: %s", argv, err, out)
		}
	}
	rbd("create", "--size", "64M", "image")
	began := time.Now()
	rbd("bench", "--io-type", "write", "--io-size", "1M", "--io-threads", "8", "--io-total", fmt.Sprint(size), "image")
	return size / time.Since(began).Seconds()
}

// Copies of writes pass the namespace's loopback at its rate, clients reach the cluster from the host, and the settings are read back. The namespace goes with
// the cluster, and its link with it.
func TestRealNetwork(t *testing.T) {
	m := here(t)
	if os.Getuid() != 0 {
		t.Skip("a network namespace requires root")
	}
	const rate = 4 << 20
	i, dir := started(t, m, parameter.Settings{"network": "namespace", "network_rate": "4MiB"})
	observed, err := i.Observed(t.Context())
	if err != nil || observed["network"] != namespace || observed["network_rate"] != "4MiB" {
		t.Errorf("observed %v, %v", observed, err)
	}
	got := written(t, filepath.Join(dir, confFile))
	t.Logf("%.3g MiB/s", got/(1<<20))
	if got > 1.5*rate { // each byte is copied once; the last ones wait in buffers
		t.Errorf("clients write %.3g MiB/s, and OSDs can copy 4 MiB/s", got/(1<<20))
	}
	links := func() string {
		out, err := exec.Command("ip", "-o", "addr", "show").Output()
		if err != nil {
			t.Fatal(err)
		}
		return string(out)
	}
	if !strings.Contains(links(), " 198.1") {
		t.Error("no link to the namespace")
	}
	if err := i.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	for end := time.Now().Add(10 * time.Second); strings.Contains(links(), " 198.1"); { // the kernel removes a namespace a little later
		if time.Now().After(end) {
			t.Fatalf("the link is left:\n%s", links())
		}
	}
}
