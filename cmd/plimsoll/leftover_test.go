package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/hosttest"
)

// Nothing of a killed run is left on the host after restore: files, shared memory, mounts, control groups, network namespaces, queueing disciplines, processes.
func TestNothingIsLeftAfterAKill(t *testing.T) {
	if !contained(t) {
		return
	}
	sh(t, "mkdir -m 700 /var/lib/plimsoll/undo; ip link add pair0 type veth peer name pair1")
	null := "\n  \"null\": {threads: 1}"
	measure := "\nmeasure: {settle: 10ms, warmup: 50ms, window: 300ms, longest: 600ms, interval: 50ms, blocks: 100, retries: 1000}\nheadline: [operations]\n"
	head := "study: left\nquestion: Is anything left?\nplatform: local\nworkload:"
	tests := []struct {
		name, study string
		began       string // a shell command that succeeds once there is something to leave
		needs       string // program
	}{
		{"network emulator", head + null + "\nfactors:\n  network.latency:pair0: [10ms, 20ms]" + measure, "tc qdisc show dev pair0 | grep -q netem", "tc"},
		{"control groups", head + null + "\nfactors:\n  host.quota: [0.5, 0.6]" + measure, "find /sys/fs/cgroup -maxdepth 3 -name 'plimsoll-'$(readlink /proc/self/ns/pid | tr -dc 0-9)'-*' | grep -q .", ""},
		{"network namespaces", head + "\n  web: {connections: 2, rate: 50/s, tick: 20ms}\nservice: {nginx: {network: namespaces}}" + strings.Replace(measure, "operations", "requests", 1), "ls /run/netns | grep -q plimsoll", "nginx"},
		{"postgresql", head + "\n  oltp: {connections: 2, threads: 1, rate: 50/s}\nservice: postgresql" + strings.Replace(measure, "operations", "transactions", 1), "pgrep -x postgres", "postgres"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if _, err := exec.LookPath(test.needs); test.needs != "" && err != nil {
				t.Skip(err)
			}
			if test.needs == "tc" && exec.Command("sh", "-c", "tc qdisc add dev pair0 root netem delay 1ms && tc qdisc del dev pair0 root").Run() != nil {
				t.Skip("the kernel has no network emulator")
			}
			l := newLab(t)
			host := hosttest.Watch(t, l.dir)
			l.write("study.yaml", test.study)
			c, said := l.start("run", "study.yaml", "--quiet", "--out", "out")
			tick := time.NewTicker(2 * time.Millisecond)
			defer tick.Stop()
			for deadline := time.Now().Add(20 * time.Second); exec.Command("sh", "-c", test.began).Run() != nil; <-tick.C {
				if time.Now().After(deadline) {
					l.kill(c)
					t.Fatalf("it has not begun: %s", said)
				}
			}
			l.kill(c)
			t.Log(l.plimsoll(0, "restore"))
			host.Unchanged(t)
		})
	}
	// The folder of guests of a process that died before it entered anything in an undo log.
	l := newLab(t)
	host := hosttest.Watch(t, l.dir)
	left := filepath.Join(os.TempDir(), "plimsoll-guest-123")
	sh(t, "mkdir -m 700 "+left+" && touch "+left+"/lock "+left+"/disk")
	if said := l.plimsoll(0, "restore"); !strings.Contains(said, "removed "+left) {
		t.Errorf("restore said %s", said)
	}
	host.Unchanged(t)
}
