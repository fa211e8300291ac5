// Package vcenter measures the vCenter simulator, against govmomi's own with the same inventory.
package vcenter

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"plimsoll/bench/measured"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/generate"
	"plimsoll/internal/vsphere/sim"
)

// fleet is so many hosts and VMs in clusters of at most 64 hosts.
func fleet(hosts, vms int) (list []*cluster.Cluster) {
	const most = 64
	n := (hosts + most - 1) / most
	for i := range n {
		s := generate.Typical(hosts*(i+1)/n-hosts*i/n, uint64(i))
		s.VMs, s.Name = vms*(i+1)/n-vms*i/n, fmt.Sprintf("C%d", i)
		c, _ := generate.Cluster(s)
		for k := range c.Hosts {
			c.Hosts[k].Name = s.Name + "-" + c.Hosts[k].Name
		}
		for k := range c.VMs {
			c.VMs[k].Name = s.Name + "-" + c.VMs[k].Name
		}
		list = append(list, c)
	}
	return list
}

// Building is how long inventories take to build, and the memory of the process.
func Building() ([]measured.Result, error) {
	var lines []measured.Result
	for _, size := range []struct{ hosts, vms, limit int }{{64, 8000, 60}, {2000, 25000, 60}} {
		clusters := fleet(size.hosts, size.vms)
		begin := time.Now()
		s, err := sim.Start(context.Background(), sim.Options{Clusters: clusters, Listen: "127.0.0.1:0"})
		if err != nil {
			return lines, err
		}
		took := time.Since(begin).Seconds()
		memory, err := resident()
		if failed := s.Close(); err == nil {
			err = failed
		}
		if err != nil {
			return lines, err
		}
		what := fmt.Sprintf("%d hosts, %d VMs", size.hosts, size.vms)
		lines = append(lines, measured.Result{What: what + " built", Got: took, Against: "limit", Limit: float64(size.limit), Unit: "s"},
			measured.Result{What: "the same: memory of the process", Got: memory, Against: "limit", Limit: 2048, Unit: "MiB"})
	}
	return lines, nil
}

// resident is the largest resident memory that this process had, in MiB.
func resident() (float64, error) {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) == 3 && f[0] == "VmHWM:" {
			kib, err := strconv.ParseFloat(f[1], 64)
			return kib / 1024, err
		}
	}
	return 0, fmt.Errorf("no VmHWM in /proc/self/status")
}
