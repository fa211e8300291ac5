package hci

import (
	"fmt"
	"slices"
	"strings"

	"plimsoll/bench/causes/scene"
	"plimsoll/internal/finding"
)

// limit is a limit of a cluster that is made on purpose.
type limit struct {
	name    string
	load    string                                    // settings of the workload storage, beside the size of blocks
	more    string                                    // further lines of the study
	service string                                    // further settings of the cluster
	blocks  int                                       // 0 is one
	plant   func(s *scene.Scene, osds []string) error // makes it while the load runs; nil for nothing
	named   func(e finding.Explanation) bool          // the explanation that is right; nil for none at all
}

// Loads that keep a cluster busy.
const (
	busy  = "disks: 2, size: 64MiB, read: 0%, threads: 2, depth: 8"
	reads = "disks: 2, size: 128MiB, read: 100%, threads: 1, depth: 8"
)

// says is the explanation of the side that begins with a text.
func says(text string) func(finding.Explanation) bool {
	return func(e finding.Explanation) bool {
		return e.Rule == "storage_side" && strings.HasPrefix(e.Sentence.Text, text)
	}
}

// either is also the explanation of a rule about the host that names a program.
func either(text, rule, program string) func(finding.Explanation) bool {
	return func(e finding.Explanation) bool {
		return says(text)(e) || e.Rule == rule && strings.Contains(e.Sentence.Text, program)
	}
}

const (
	frontConcurrency = "The load limits"
	frontCPU         = "The CPU of the clients limits"
	backCPU          = "The CPU of the OSDs limits"
	backNetwork      = "The network between the OSDs limits"
	backDevices      = "The devices limit"
	oneOSD           = "One OSD limits"
)

// limits are those that the rule was made with. Nothing may be named of those without an explanation.
func limits() []limit {
	return []limit{
		{name: "one-thread", load: "disks: 1, size: 64MiB, read: 0%, threads: 1, depth: 1", named: says(frontConcurrency)},
		{name: "client-cpu", load: busy, more: "factors: {host.quota: [\"0.1\"]}", named: either(frontCPU, "cpu_quota", "fio")},
		{name: "osd-cpu", load: busy, named: either(backCPU, "cpu_quota", "ceph-osd"), plant: func(s *scene.Scene, osds []string) error {
			return confine(s, "cpu", osds, func(g *scene.Group) error { return g.Quota(20) })
		}},
		{name: "device", load: busy, named: either(backDevices, "io_throttle", "ceph-osd"), plant: func(s *scene.Scene, osds []string) error {
			return confine(s, scene.Disks(), osds, func(g *scene.Group) error { return g.Throttle(diskOf(s), false, 200) })
		}},
		{name: "network", load: busy, service: ", network: namespace, network_rate: 2MiB", named: says(backNetwork)},
		{name: "slow-osd", load: busy, named: says(oneOSD + " the cluster: osd.1"), plant: func(s *scene.Scene, osds []string) error {
			return stutter(s, osds[1])
		}},
		{name: "idle", load: "disks: 2, size: 64MiB, read: 50%, threads: 1, depth: 4", more: "load: {rate: 64/s}"},
		{name: "a/a", load: busy, more: "factors: {storage.working_set: [100%, 99.9%]}", blocks: 3},
	}
}

// heldOut are limits that the rule was not made with.
func heldOut() []limit {
	const few = ", redundancy: \"replica:1\", cache: 16MiB"
	return []limit{
		{name: "reads", load: reads, service: few, named: either(backDevices, "io_throttle", "ceph-osd"), plant: func(s *scene.Scene, osds []string) error {
			return confine(s, scene.Disks(), osds, func(g *scene.Group) error { return g.Throttle(diskOf(s), true, 100) })
		}},
		{name: "slow-reads", load: reads, service: few, named: says(oneOSD + " the cluster: osd.2"), plant: func(s *scene.Scene, osds []string) error {
			return confine(s, scene.Disks(), osds[2:], func(g *scene.Group) error { return g.Throttle(diskOf(s), true, 30) })
		}},
	}
}

// choose has the limits with the names; without names, all.
func choose(names []string, unseen bool) ([]limit, error) {
	all := slices.Concat(limits(), heldOut())
	if unseen {
		all = heldOut()
	}
	if len(names) == 0 {
		return all, nil
	}
	var chosen []limit
	for _, name := range names {
		i := slices.IndexFunc(all, func(l limit) bool { return l.name == name })
		if i < 0 {
			return nil, fmt.Errorf("there is no limit %q", name)
		}
		chosen = append(chosen, all[i])
	}
	return chosen, nil
}

// study is a study of the limited cluster. It asks for the limit, except in a comparison.
func (l limit) study() string {
	goal := "goal: {most: iops}\n"
	if l.blocks > 0 {
		goal = ""
	}
	return fmt.Sprintf(`study: side
question: Which side limits the cluster?
platform: local
service: {ceph: {osds: 3, size: 2GiB%s}}
workload: {storage: {block: 4KiB, random: 100%%, %s}}
%s
measure: {settle: 0s, warmup: 3s, window: 5s, longest: 12s, blocks: %d, retries: 10}
headline: [iops]
margin: 100%%
%s`, l.service, l.load, l.more, max(1, l.blocks), goal)
}
