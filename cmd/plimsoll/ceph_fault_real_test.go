package main

import (
	"bytes"
	"context"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"plimsoll/internal/catalog"
	"plimsoll/internal/lab"
	"plimsoll/internal/measure"
)

const imageFaultStudy = `study: images
question: How does a load end whose cluster fails?
platform: local
service: {ceph: {osds: 3, size: 1GiB}}
workload:
  storage: {disks: 1, size: 64MiB, block: 64KiB, read: 0%, random: 100%, depth: 4, precondition: zero}
measure: {settle: 0s, warmup: 1s, window: 4s, longest: 6s, blocks: 2, retries: 1}
headline: [iops]
`

// clusterProcesses are the processes below a folder, or with a configuration there, by id: the arguments of each.
func clusterProcesses(dir string) map[int]string {
	all := map[int]string{}
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		argv, _ := os.ReadFile(filepath.Join("/proc", e.Name(), "cmdline"))
		environ, _ := os.ReadFile(filepath.Join("/proc", e.Name(), "environ"))
		if len(argv) > 0 && (bytes.Contains(argv, []byte(dir)) || bytes.Contains(environ, []byte("CEPH_CONF="+dir))) {
			all[pid] = strings.TrimSpace(strings.ReplaceAll(string(argv), "\x00", " "))
		}
	}
	return all
}

// clusterProcess is the process below a folder whose arguments begin with a text; 0 for none.
func clusterProcess(dir, begin string) int {
	for pid, argv := range clusterProcesses(dir) {
		if strings.HasPrefix(argv, begin) {
			return pid
		}
	}
	return 0
}

// awaitLoad waits until fio loads the images of a cluster below a folder.
func awaitLoad(ctx context.Context, dir string) bool {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		for pid, argv := range clusterProcesses(dir) {
			if strings.HasPrefix(argv, "fio ") && strings.Contains(argv, "--status-interval") && clusterProcess(dir, "ceph-mon -f") > 0 {
				_ = pid
				return true
			}
		}
		select {
		case <-ctx.Done():
			return false
		case <-tick.C:
		}
	}
}

// spoiled runs the study, lets something happen in the middle of its first load, and returns the record of that trial.
func spoiled(t *testing.T, text string, happen func(dir string)) measure.Record {
	t.Helper()
	if os.Getenv("PLIMSOLL_REAL") == "" {
		t.Skip("set PLIMSOLL_REAL=1 to start a real Ceph cluster")
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "images.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	l := &lab.Lab{Catalog: catalog.All(), Version: "test"}
	source, err := l.Read(file, nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	go func() {
		if awaitLoad(ctx, dir) {
			happen(dir)
		}
	}()
	o, err := l.Run(ctx, lab.Request{Source: *source, Dir: filepath.Join(dir, "results"), Seed: 1})
	if o == nil || len(o.Input.Records) == 0 {
		t.Fatalf("no record: %v", err)
	}
	if ctx.Err() != nil {
		t.Error("the run did not end by itself")
	}
	if left := clusterProcesses(dir); len(left) > 0 {
		t.Errorf("processes are left: %v", left)
	}
	if left, err := filepath.Glob(filepath.Join(dir, "results", "scratch", "*", "*")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	for _, r := range o.Input.Records {
		t.Logf("trial %d: %q", r.Trial, r.Void)
	}
	return o.Input.Records[0]
}

// A monitor that dies in the middle of a load voids the trial, with its name.
func TestRealMonitorDies(t *testing.T) {
	text := strings.Replace(imageFaultStudy, "blocks: 2, retries: 1", "blocks: 1, retries: 0", 1)
	r := spoiled(t, text, func(dir string) {
		if err := syscall.Kill(clusterProcess(dir, "ceph-mon -f"), syscall.SIGKILL); err != nil {
			t.Error(err)
		}
	})
	if !strings.Contains(r.Void, "the monitor ended (status 137)") {
		t.Errorf("void: %q", r.Void)
	}
}

// clusterLinks lists the links of this host with the address of the cluster of the run, which is on them if its OSDs are in network namespaces.
func (r *rig) clusterLinks() func() []string {
	conf, err := os.ReadFile(filepath.Join(r.dir, "out", "scratch", "service", "ceph", "ceph.conf"))
	if err != nil {
		r.t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(conf), "mon host = [v2:")
	host, _, _ := strings.Cut(after, ":")
	return func() (names []string) {
		all, err := net.Interfaces()
		if err != nil {
			r.t.Fatal(err)
		}
		for _, i := range all {
			addresses, _ := i.Addrs()
			for _, a := range addresses {
				if strings.HasPrefix(a.String(), host+"/") && i.Flags&net.FlagLoopback == 0 {
					names = append(names, i.Name)
				}
			}
		}
		return names
	}
}

// A run that is killed leaves no process of its cluster, and what else is left is removed by restore.
func TestRealClusterDiesWithPlimsoll(t *testing.T) {
	if os.Getenv("PLIMSOLL_REAL") == "" {
		t.Skip("set PLIMSOLL_REAL=1 to start a real Ceph cluster")
	}
	r := &rig{t: t, dir: t.TempDir()}
	text := imageFaultStudy
	if os.Getuid() == 0 {
		text = strings.Replace(text, "size: 1GiB}", "size: 1GiB, network: namespaces, network_latency: 1ms}", 1)
	}
	if err := os.WriteFile(filepath.Join(r.dir, "study.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	r.killed("fio loads the images", func() bool { return clusterProcess(r.dir, "fio ") > 0 })
	cables := r.clusterLinks()
	if os.Getuid() == 0 && len(cables()) == 0 {
		t.Error("the cluster has no network of its own")
	}
	limit := time.After(time.Minute)
	for len(clusterProcesses(r.dir)) > 0 {
		select {
		case <-limit:
			t.Fatalf("processes are left: %v", clusterProcesses(r.dir))
		case <-time.After(20 * time.Millisecond):
		}
	}
	for len(cables()) > 0 {
		select {
		case <-limit:
			t.Fatalf("links are left: %v", cables())
		case <-time.After(20 * time.Millisecond):
		}
	}
	scratch := filepath.Join(r.dir, "out", "scratch", "*")
	if left, err := filepath.Glob(scratch); err != nil || len(left) == 0 {
		t.Errorf("the killed run left %v, %v", left, err)
	}
	t.Log(r.must("restore", "out"))
	if left, err := filepath.Glob(scratch + "/*"); err != nil || len(left) > 0 {
		t.Errorf("left after restore: %v, %v", left, err)
	}
}

// Images that exceed the OSDs with their redundancy are refused in one line before the start: those of one arm, and those of all arms of one cluster.
func TestRealImagesTooLargeForTheCluster(t *testing.T) {
	if os.Getenv("PLIMSOLL_REAL") == "" {
		t.Skip("set PLIMSOLL_REAL=1 to start a real Ceph cluster")
	}
	for _, c := range []struct{ redundancy, size, factors, want string }{
		{"replica:2", "1400MiB", "", "the data takes 2.73GiB in service ceph"},
		{"ec:2+1", "1800MiB", "", "the data takes 2.64GiB in service ceph"},
		{"replica:2", "700MiB", "factors: {ceph.compression: [none, lz4]}", "the data of 2 arms takes 2.73GiB in service ceph"},
	} {
		dir := t.TempDir()
		file := filepath.Join(dir, "images.yaml")
		text := strings.NewReplacer("size: 1GiB", "size: 1GiB, redundancy: '"+c.redundancy+"'", "size: 64MiB", "size: "+c.size).Replace(imageFaultStudy) + c.factors + "\n"
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		l := &lab.Lab{Catalog: catalog.All(), Version: "test"}
		source, err := l.Read(file, nil)
		if err != nil {
			t.Fatal(err)
		}
		_, err = l.Run(t.Context(), lab.Request{Source: *source, Dir: filepath.Join(dir, "results"), Seed: 1})
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "but that holds 2.55GiB") || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", c.redundancy, err)
		}
		if _, started := os.Stat(filepath.Join(dir, "results", "scratch")); started == nil {
			t.Errorf("%s: it was started", c.redundancy)
		}
	}
}
