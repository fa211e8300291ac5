package ceph

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"plimsoll/internal/parameter"
	"plimsoll/internal/router"
	"plimsoll/internal/service"
	"plimsoll/internal/service/ceph/counter"
)

// TestMain is a router if it is started as one.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == router.Command {
		if err := router.Serve(context.Background(), os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// spread is a private cluster in namespaces.
func spread(t *testing.T, more parameter.Settings) (i service.Instance, dir string) {
	t.Helper()
	m := here(t)
	if os.Getuid() != 0 {
		t.Skip("network namespaces require root")
	}
	all := parameter.Settings{"network": namespaces, "size": "1GiB"}
	for name, value := range more {
		all[name] = value
	}
	return started(t, m, all)
}

// image makes an image with data.
func image(t *testing.T, dir string) {
	t.Helper()
	rbd(t, dir, "create", "--size", "16M", "image")
	rbd(t, dir, "bench", "--io-type", "write", "--io-size", "1M", "--io-pattern", "seq", "--io-total", "16M", "image")
}

func rbd(t *testing.T, dir string, argv ...string) string {
	t.Helper()
	c := exec.CommandContext(t.Context(), "rbd", append([]string{"--conf", filepath.Join(dir, confFile), "--pool", "plimsoll-r2", "--rbd-cache=false"}, argv...)...)
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("rbd %q: %v: %s", argv, err, out)
	}
	return string(out)
}

// operation is the mean time of a 4 KiB operation on the image, with one outstanding.
func operation(t *testing.T, dir, kind string, count int) time.Duration {
	t.Helper()
	said := rbd(t, dir, "bench", "--io-type", kind, "--io-size", "4096", "--io-threads", "1", "--io-pattern", "rand", "--io-total", strconv.Itoa(4096*count), "image")
	found := regexp.MustCompile(`ops/sec: ([\d.]+)`).FindStringSubmatch(said)
	if found == nil {
		t.Fatalf("rbd says %q", said)
	}
	rate, _ := strconv.ParseFloat(found[1], 64)
	return time.Duration(float64(time.Second) / rate)
}

// fastest are the shortest means of operations of a kind with a network and without any latency, measured in turns.
func fastest(t *testing.T, dir, kind string, network router.Settings) (with, without time.Duration) {
	t.Helper()
	with, without = time.Hour, time.Hour
	for range 2 {
		set(t, dir, network)
		with = min(with, operation(t, dir, kind, 50))
		set(t, dir, router.Settings{})
		without = min(without, operation(t, dir, kind, 100))
	}
	t.Logf("a %s takes %v, without a latency %v", kind, with, without)
	return with, without
}

// set changes the network of a cluster that runs.
func set(t *testing.T, dir string, s router.Settings) {
	t.Helper()
	conn, err := net.Dial("unix", filepath.Join(dir, socketOfRouter))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := router.Ask(conn, router.Request{Set: &s}); err != nil {
		t.Fatal(err)
	}
}

// links are the links of a cluster on this host.
func links(t *testing.T, dir string) (all []string) {
	t.Helper()
	conf, err := os.ReadFile(filepath.Join(dir, confFile))
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`mon host = \[v2:[\d.]+:(\d+)`).FindSubmatch(conf)
	port, _ := strconv.Atoi(string(found[1]))
	return linksOf(t, subnetOf(port).link())
}

func linksOf(t *testing.T, name string) (all []string) {
	t.Helper()
	found, err := net.Interfaces()
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range found {
		if i.Name == name || strings.HasPrefix(i.Name, name+"x") {
			all = append(all, i.Name)
		}
	}
	return all
}

// gone waits until no process works in a folder and no link of a name is left.
func gone(t *testing.T, dir, link string) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(20 * time.Second); ; <-tick.C {
		var left []string
		all, _ := filepath.Glob("/proc/[0-9]*/cwd")
		for _, cwd := range all {
			if at, err := os.Readlink(cwd); err == nil && strings.TrimSuffix(at, " (deleted)") == dir {
				left = append(left, cwd)
			}
		}
		if left = append(left, linksOf(t, link)...); len(left) == 0 {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("left: %v", left)
		}
	}
}

const latency = 5 * time.Millisecond

// A latency between OSDs is read back, its round trip measured, and a write waits for it. A cluster that runs takes on others. A router that ends takes the cluster with it, and leaves nothing.
func TestRealLatency(t *testing.T) {
	i, dir := spread(t, parameter.Settings{"osds": "2", "network_latency": latency.String(), "network_rate": "100MiB"})
	observed, err := i.Observed(t.Context())
	if err != nil || observed["network"] != namespaces || observed["network_latency"] != "5ms" || observed["network_rate"] != "100MiB" || observed["sites"] != "1" || observed["site_latency"] != "0s" {
		t.Errorf("observed %v, %v", observed, err)
	}
	counters := counted(t, i)
	if rtt := counters[counter.NetworkRTT]; rtt < 2*latency.Seconds() || rtt > 1 {
		t.Errorf("a round trip takes %v s", rtt)
	}
	if _, measured := counters[counter.SitesRTT]; measured || counters[counter.NetworkBytes] <= 0 || counters[counter.NetworkCPU] <= 0 || counters[counter.NetworkDrops] != 0 {
		t.Errorf("counters: %v", counters)
	}
	other := parameter.Settings{"osds": "2", "size": "1GiB", "network": namespaces, "network_latency": "1ms", "network_rate": "0B"}
	if err := i.(service.Adapter).Adapt(t.Context(), other); err != nil {
		t.Error(err)
	}
	if observed, err = i.Observed(t.Context()); err != nil || observed["network_latency"] != "1ms" || observed["network_rate"] != "0B" || observed["osds"] != "2" {
		t.Errorf("with other settings: observed %v, %v", observed, err)
	}
	image(t, dir)
	if slow, fast := fastest(t, dir, "write", router.Settings{Latency: latency}); slow < 2*latency || fast >= slow {
		t.Errorf("a write takes %v, without a latency %v", slow, fast)
	}
	set(t, dir, router.Settings{Rate: 1 << 20})
	began := time.Now()
	rbd(t, dir, "bench", "--io-type", "write", "--io-size", "1M", "--io-total", "4M", "image")
	if took := time.Since(began); took < 3*time.Second {
		t.Errorf("copies of 4 MiB pass a link of 1 MiB/s in %v", took)
	}
	set(t, dir, router.Settings{Latency: time.Second}) // what is on its way must not keep anything
	name := links(t, dir)[0]
	name = name[:strings.LastIndexByte(name, 'x')]
	pid, _ := process(t, dir, func(argv []string) bool { return argv[len(argv)-1] == router.Command })
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	var died *service.DeathError
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for began := time.Now(); !errors.As(i.(service.FailureReporter).Died(), &died); <-tick.C {
		if time.Since(began) > time.Minute {
			t.Fatal("a cluster that lost its network runs on")
		}
	}
	if how := died.How(); how != "ceph ended with status 1: the router between the OSDs ended (status 137)" {
		t.Errorf("it says %q", how)
	}
	gone(t, dir, name)
}

// primaries counts the placement groups of an OSD of which it is the primary.
func primaries(t *testing.T, dir string, n int) (count int) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "ceph", "--admin-daemon", socketOf(dir, osd(n)), "dump_pgstate_history").Output()
	var history struct {
		Groups []struct {
			Currently string `json:"currently"`
		} `json:"pgs"`
	}
	if err != nil || json.Unmarshal(out, &history) != nil {
		t.Fatalf("ask %s for its placement groups: %v: %s", osd(n), err, out)
	}
	for _, g := range history.Groups {
		if strings.HasPrefix(g.Currently, "Started/Primary/") {
			count++
		}
	}
	return count
}

// On two sites writes wait for the other site and reads do not. Two clusters at once have their own networks, and nothing is left when the process that
// started one is killed.
func TestRealSites(t *testing.T) {
	other, otherDir := spread(t, parameter.Settings{"osds": "2"})
	i, dir := spread(t, parameter.Settings{"osds": "4", "sites": "2", "site_latency": latency.String()})
	observed, err := i.Observed(t.Context())
	if err != nil || observed["network"] != namespaces || observed["network_latency"] != "0s" || observed["sites"] != "2" || observed["site_latency"] != "5ms" {
		t.Errorf("observed %v, %v", observed, err)
	}
	counters := counted(t, i)
	if near, far := counters[counter.NetworkRTT], counters[counter.SitesRTT]; near <= 0 || near >= far || far < 2*latency.Seconds() {
		t.Errorf("a round trip on a site takes %v s, between sites %v s", near, far)
	}
	for n := range 4 {
		if count := primaries(t, dir, n); (count > 0) != (n < 2) {
			t.Errorf("%s is the primary of %d placement groups", osd(n), count)
		}
	}
	image(t, dir)
	if far, near := fastest(t, dir, "write", router.Settings{SiteLatency: latency}); far < 2*latency || near >= far {
		t.Errorf("a write takes %v, without a latency %v", far, near)
	}
	if far, near := fastest(t, dir, "read", router.Settings{SiteLatency: latency}); far >= 2*latency {
		t.Errorf("a read takes %v, without a latency %v", far, near)
	}
	for where, cluster := range map[string]service.Instance{dir: i, otherDir: other} {
		if err := until(t.Context(), time.Minute, "end of work", func(ctx context.Context) (busy string, err error) {
			busy, _, err = cluster.(service.Settling).Unsettled(ctx)
			return busy, err
		}); err != nil {
			t.Errorf("%s: %v", where, err)
		}
	}
	collide(t, otherDir)
	mine, others := links(t, dir), links(t, otherDir)
	if len(mine) != 3 || len(others) != 2 { // two OSDs on the first site and the port of the clients
		t.Errorf("links %v and %v", mine, others)
	}
	pid, _ := startScript(t, dir)
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if err := i.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	gone(t, dir, strings.SplitN(mine[0], "x", 2)[0])
	if got := links(t, otherDir); len(got) != 2 {
		t.Errorf("the other cluster has links %v", got)
	}
	if observed, err := other.Observed(t.Context()); err != nil || observed["network_latency"] != "0s" {
		t.Errorf("the other cluster: %v, %v", observed, err)
	}
	if err := other.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	gone(t, otherDir, strings.SplitN(others[0], "x", 2)[0])
}

// collide starts another cluster at the addresses of one that runs, which is refused so that it is tried with others.
func collide(t *testing.T, dir string) {
	t.Helper()
	again := t.TempDir()
	_, argv := startScript(t, dir)
	for i, argument := range argv {
		argv[i] = strings.ReplaceAll(argument, dir, again)
	}
	for _, name := range []string{"start.sh", confFile, "commands", "osds", networkFile} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err == nil {
			err = os.WriteFile(filepath.Join(again, name), []byte(strings.ReplaceAll(string(text), dir, again)), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	out, err := exec.CommandContext(t.Context(), argv[0], argv[1:]...).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "Address already in use: 198.1") {
		t.Errorf("a second cluster at the same addresses: %v: %s", err, out)
	}
}

// process is a process that works in the folder of a cluster, by its arguments.
func process(t *testing.T, dir string, is func(argv []string) bool) (pid int, argv []string) {
	t.Helper()
	all, _ := filepath.Glob("/proc/[0-9]*/cwd")
	for _, cwd := range all {
		at, _ := os.Readlink(cwd)
		text, _ := os.ReadFile(filepath.Join(filepath.Dir(cwd), "cmdline"))
		argv = strings.Split(strings.TrimSuffix(string(text), "\x00"), "\x00")
		if at == dir && is(argv) {
			pid, _ = strconv.Atoi(filepath.Base(filepath.Dir(cwd)))
			return pid, argv
		}
	}
	t.Fatal("no such process")
	return 0, nil
}

// startScript is the process of start.sh of a cluster.
func startScript(t *testing.T, dir string) (pid int, argv []string) {
	t.Helper()
	return process(t, dir, func(argv []string) bool { return len(argv) > 2 && argv[1] == filepath.Join(dir, "start.sh") })
}
