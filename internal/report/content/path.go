package content

import (
	"plimsoll/internal/measure"
	"plimsoll/internal/report"
)

// Path is the path of operations from the clients to the devices of a storage cluster in one arm, as means over its valid trials.
type Path struct {
	Arm     int
	Trials  int
	Latency []PathPart // in the order of the path; they add up to the latency of the clients
	Hops    []Hop
	CPU     []PathPart // CPU time of an operation
}

// PathPart is a part of a sum, in seconds.
type PathPart struct {
	Name    string
	Seconds float64
}

// Hop is where bytes pass.
type Hop struct {
	Name   string
	Reads  bool
	Bytes  float64 // per second
	Size   float64 // mean of an operation; 0 if not counted
	Client bool    // what the clients read or write
	Device bool
	Per    float64 // byte of the clients
}

// pathParts are the metrics of the parts of the latency, and their names.
var pathParts = [][2]string{
	{"client", "client, network"}, {"queue", "queue"}, {"rest", "OSD"}, {"copies", "copies"}, {"commit", "commit"}, {"flush", "flush"}, {"read", "device read"},
}

// leastClass is the share of the operations from which a class is shown: images have a header that is read.
const leastClass = 0.01

// Paths are the paths of the arms with counters of a storage cluster.
func Paths(s *report.Sources) (all []Path) {
	for arm := range s.Arms() {
		if p, ok := pathOf(s, arm); ok {
			all = append(all, p)
		}
	}
	return all
}

func pathOf(s *report.Sources, arm int) (p Path, ok bool) {
	var of []*measure.Record
	for _, i := range s.Of[arm] {
		if r := &s.InOrder[i]; hasAll(r, "ceph.latency.client", "ceph.latency.commit", "ceph.latency.flush") {
			of = append(of, r)
		}
	}
	if len(of) == 0 {
		return p, false
	}
	mean := func(name string) (float64, bool) { return meanOf(of, name) }
	p = Path{Arm: arm, Trials: len(of), Hops: hops(mean)}
	flush, _ := mean("ceph.latency.flush")
	for _, one := range pathParts {
		v, known := mean("ceph.latency." + one[0])
		if one[0] == "commit" { // which includes the flush
			v = max(0, v-flush)
		}
		if known && v > 0 {
			p.Latency = append(p.Latency, PathPart{one[1], v})
		}
	}
	for _, one := range [][2]string{{"ceph.client_cpu", "clients"}, {"ceph.operation_cpu", "OSDs"}} {
		if v, known := mean(one[0]); known {
			p.CPU = append(p.CPU, PathPart{one[1], v})
		}
	}
	return p, len(p.Latency) > 0
}

// hops are the places that bytes pass, of writes and then of reads.
func hops(mean func(string) (float64, bool)) (all []Hop) {
	writes, _ := mean("ceph.writes.count")
	reads, _ := mean("ceph.reads.count")
	for _, class := range []struct {
		reads bool
		count float64
		hops  [][3]string
	}{
		{false, writes, [][3]string{{"clients write", "ceph.write_bytes", "ceph.write_size"}, {"log", "ceph.log_bytes"}, {"deferred", "ceph.deferred_bytes"}, {"devices", "ceph.device_write_bytes", "ceph.device_write_size"}}},
		{true, reads, [][3]string{{"clients read", "ceph.read_bytes", "ceph.read_size"}, {"devices", "ceph.device_read_bytes", "ceph.device_read_size"}}},
	} {
		client, known := mean(class.hops[0][1])
		if !known || client <= 0 || class.count < leastClass*(writes+reads) {
			continue
		}
		for i, h := range class.hops {
			if bytes, known := mean(h[1]); known {
				size, _ := mean(h[2])
				all = append(all, Hop{Name: h[0], Reads: class.reads, Bytes: bytes, Size: size, Client: i == 0, Device: i == len(class.hops)-1, Per: bytes / client})
			}
		}
	}
	return all
}

func hasAll(r *measure.Record, names ...string) bool {
	for _, name := range names {
		if _, ok := r.Counters[name]; !ok {
			return false
		}
	}
	return true
}

// meanOf is the arithmetic mean of a counter over records; not known unless each has it. Means of parts add up as the parts do.
func meanOf(of []*measure.Record, name string) (mean float64, known bool) {
	for _, r := range of {
		v, ok := r.Counters[name]
		if !ok {
			return 0, false
		}
		mean += v / float64(len(of))
	}
	return mean, true
}

// Sum is the sum of parts, in seconds.
func Sum(parts []PathPart) (sum float64) {
	for _, p := range parts {
		sum += p.Seconds
	}
	return sum
}
