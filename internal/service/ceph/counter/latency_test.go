package counter

import (
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

const ms = 1e-3

func TestPartsOfLatency(t *testing.T) {
	for name, c := range map[string]struct {
		stages
		want parts
	}{
		"two copies": {
			stages{mean: 9.7 * ms, primary: 6.6 * ms, process: 6.2 * ms, prepare: .4 * ms, commit: 3.8 * ms, flush: 2.3 * ms, parallel: true},
			parts{client: 3.1 * ms, queue: .4 * ms, copies: 2 * ms, commit: 3.8 * ms, flush: 2.3 * ms, rest: .4 * ms},
		},
		"one copy": {
			stages{mean: 5 * ms, primary: 4 * ms, process: 3.5 * ms, prepare: .5 * ms, commit: 2 * ms, flush: 1 * ms},
			parts{client: 1 * ms, queue: .5 * ms, commit: 2 * ms, flush: 1 * ms, rest: 1.5 * ms},
		},
		"commits elsewhere are slower than this one": {
			stages{mean: 5 * ms, primary: 4 * ms, process: 4 * ms, prepare: 1 * ms, commit: 8 * ms, flush: 7 * ms, parallel: true},
			parts{client: 1 * ms, commit: 3 * ms, flush: 3 * ms, rest: 1 * ms},
		},
		"read of a copy": {
			stages{mean: 2 * ms, primary: 1 * ms, process: .8 * ms, prepare: .8 * ms, read: .5 * ms, parallel: true},
			parts{client: 1 * ms, queue: .2 * ms, read: .5 * ms, rest: .3 * ms},
		},
		"read of chunks": {
			stages{mean: 2 * ms, primary: 1.5 * ms, process: 1.3 * ms, prepare: .1 * ms, read: .4 * ms, parallel: true},
			parts{client: .5 * ms, queue: .2 * ms, read: .4 * ms, copies: .9 * ms},
		},
		"the OSD takes longer than the client": {
			stages{mean: 1 * ms, primary: 3 * ms, process: 2 * ms, prepare: 1 * ms, commit: 1 * ms},
			parts{queue: 1 * ms, commit: 1 * ms, rest: 1 * ms},
		},
	} {
		got := c.parts()
		for _, one := range partList() {
			if v, want := one.of(got), one.of(c.want); math.Abs(v-want) > 1e-9 {
				t.Errorf("%s: %s is %v, want %v", name, one.name, v, want)
			}
		}
	}
}

// sum adds up the parts in counters with a prefix.
func sum(counters map[string]float64, prefix string) (all float64) {
	for name, v := range counters {
		if part, ok := strings.CutPrefix(name, prefix); ok && part != "flush" {
			all += v
		}
	}
	return all
}

// Whatever the counters say, no part is negative and the parts add up to the mean of the clients, or to the time in the primary OSD if that is longer.
func TestPartsAddUp(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	upTo := func(most float64) float64 { return most * r.Float64() * float64(r.IntN(3)) / 2 }
	for range 10000 {
		s := stages{mean: upTo(10), primary: upTo(10), process: upTo(10), prepare: upTo(10), commit: upTo(10), flush: upTo(10), read: upTo(10), parallel: r.IntN(2) > 0}
		p, all := s.parts(), 0.
		for _, one := range partList() {
			if v := one.of(p); v < -1e-12 {
				t.Fatalf("%+v: %s is %v", s, one.name, v)
			} else if one.name != "flush" {
				all += v
			}
		}
		if math.Abs(all-max(s.mean, s.primary)) > 1e-9 || p.flush > p.commit {
			t.Fatalf("%+v: the parts add up to %v: %+v", s, all, p)
		}
	}
}

// Parts of all operations are weighted by their numbers, and only classes that the clients measure have parts of their own.
func TestPartsInARecord(t *testing.T) {
	counters := map[string]float64{
		"ceph.writes.count": 300, "ceph.writes.time": 300 * 6 * ms, "ceph.writes.process_time": 300 * 5 * ms, "ceph.writes.prepare_time": 300 * 1 * ms,
		"ceph.reads.count": 700, "ceph.reads.time": 700 * 1 * ms, "ceph.reads.process_time": 700 * .5 * ms, "ceph.reads.prepare_time": 700 * .5 * ms,
		"ceph.replicas.count": 300, "ceph.commits.latency": 3 * ms, "ceph.flushes.latency": 2 * ms, "ceph.device_reads.count": 350, "ceph.device_reads.latency": .4 * ms,
	}
	values := map[string]float64{"mean": 3.5 * ms, "write.mean": 8 * ms, "read.mean": 1.4 * ms}
	got := maps.Clone(counters)
	divideLatency(got, values)
	for name, want := range map[string]float64{
		"ceph.latency.client": 1 * ms, "ceph.latency.queue": .65 * ms, "ceph.latency.commit": .9 * ms, "ceph.latency.copies": .3 * ms, "ceph.latency.read": .14 * ms,
		"ceph.latency.rest": .51 * ms, "ceph.latency.flush": .6 * ms, "ceph.write_latency.client": 2 * ms, "ceph.read_latency.read": .2 * ms,
	} {
		if math.Abs(got[name]-want) > 1e-9 {
			t.Errorf("%s is %v, want %v", name, got[name], want)
		}
	}
	for prefix, mean := range map[string]float64{"ceph.latency.": 3.5 * ms, "ceph.write_latency.": 8 * ms, "ceph.read_latency.": 1.4 * ms} {
		if all := sum(got, prefix); math.Abs(all-mean) > 1e-9 {
			t.Errorf("%s* add up to %v, want %v", prefix, all, mean)
		}
	}
	var declared []string
	for _, m := range PartMetrics() {
		declared = append(declared, m.Name)
	}
	for name := range got {
		if _, counted := counters[name]; !counted && !slices.Contains(declared, name) {
			t.Errorf("%s is not declared", name)
		}
	}
	got = maps.Clone(counters)
	divideLatency(got, map[string]float64{"mean": 3.5 * ms})
	if len(got)-len(counters) != len(partList()) {
		t.Errorf("without means of writes and reads: %v", got)
	}
	got = map[string]float64{"processes.generator.cpu": .5}
	if Derive(got, map[string]float64{"iops": 1000}); math.Abs(got["ceph.client_cpu"]-.5*ms) > 1e-12 {
		t.Errorf("CPU time of clients per operation: %v", got)
	}
	got = maps.Clone(counters)
	if divideLatency(got, nil); !maps.Equal(got, counters) {
		t.Errorf("without a mean of the clients: %v", got)
	}
	idle := map[string]float64{"ceph.writes.count": 0, "ceph.reads.count": 0}
	if divideLatency(idle, values); len(idle) != 2 {
		t.Errorf("of an idle cluster: %v", idle)
	}
}
