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
	load    string                                // settings of the workload storage, beside the size of blocks
	more    string                                // further lines of the study
	service string                                // further settings of the cluster
	blocks  int                                   // 0 is one
	plant   func(s *scene.Scene, c cluster) error // makes it before the load; nil for nothing
	named   func(e finding.Explanation) bool      // the explanation that is right; nil for none at all
}

// Loads that keep a cluster busy.
const (
	busy  = "disks: 2, size: 64MiB, read: 0%, threads: 2, depth: 8"
	reads = "disks: 2, size: 128MiB, read: 100%, threads: 1, depth: 8"
	few   = ", redundancy: \"replica:1\", cache: 16MiB" // settings of the cluster with reads of its devices
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
	throttle         = "A throttle of the OSDs limits"
	imageLimits      = "A limit of the images limits"
)

// limits are those that the rule was made with. Nothing may be named of those without an explanation.
func limits() []limit {
	return []limit{
		{name: "one-thread", load: "disks: 1, size: 64MiB, read: 0%, threads: 1, depth: 1", named: says(frontConcurrency)},
		{name: "client-cpu", load: busy, more: "factors: {host.quota: [\"0.1\"]}", named: either(frontCPU, "cpu_quota", "load generator")},
		{name: "osd-cpu", load: busy, named: either(backCPU, "cpu_quota", "ceph-osd"), plant: func(s *scene.Scene, c cluster) error {
			return confine(s, "cpu", c.osds, func(g *scene.Group) error { return g.Quota(20) })
		}},
		{name: "device", load: busy, named: either(backDevices, "io_throttle", "ceph-osd"), plant: func(s *scene.Scene, c cluster) error {
			return confine(s, scene.Disks(), c.osds, func(g *scene.Group) error { return g.Throttle(diskOf(s), false, 200) })
		}},
		{name: "network", load: "disks: 2, size: 64MiB, read: 0%, threads: 1, depth: 4", service: ", network: namespaces, network_latency: 5ms", named: says(backNetwork)},
		{name: "network-rate", load: busy, service: ", network: namespaces, network_rate: 1MiB", named: says(backNetwork)},
		{name: "slow-osd", load: busy, named: says(oneOSD + " the cluster: osd.1"), plant: func(s *scene.Scene, c cluster) error {
			return stutter(s, c.osds[1])
		}},
		{name: "reads", load: reads, service: few, named: either(backDevices, "io_throttle", "ceph-osd"), plant: func(s *scene.Scene, c cluster) error {
			return confine(s, scene.Disks(), c.osds, func(g *scene.Group) error { return g.Throttle(diskOf(s), true, 100) })
		}},
		{name: "throttle", load: busy, named: says(throttle), plant: func(s *scene.Scene, c cluster) error { return c.option(s, "osd_client_message_cap", "1") }},
		{name: "image-limit", load: busy, named: says(imageLimits), plant: func(s *scene.Scene, c cluster) error {
			return c.images(s, "plimsoll-r2", "rbd_qos_iops_limit", "60")
		}},
		{name: "idle", load: "disks: 2, size: 64MiB, read: 50%, threads: 1, depth: 4", more: "load: {rate: 64/s}"},
		{name: "a/a", load: busy, more: "factors: {storage.working_set: [100%, 99.9%]}", blocks: 3},
	}
}

// heldOut are limits that the rule was not made with.
func heldOut() []limit {
	one := func(n int, controller string, to func(*scene.Group, *scene.Scene) error) func(*scene.Scene, cluster) error {
		return func(s *scene.Scene, c cluster) error {
			return confine(s, controller, c.osds[n:n+1], func(g *scene.Group) error { return to(g, s) })
		}
	}
	return []limit{
		{name: "slow-reads", load: reads, service: few, named: says(oneOSD + " the cluster: osd.2"), plant: one(2, scene.Disks(), func(g *scene.Group, s *scene.Scene) error { return g.Throttle(diskOf(s), true, 30) })},
		{name: "slow-writes", load: busy, named: says(oneOSD + " the cluster: osd.0"), plant: one(0, scene.Disks(), func(g *scene.Group, s *scene.Scene) error { return g.Throttle(diskOf(s), false, 60) })},
		{name: "weak-osd", load: busy, named: either(oneOSD+" the cluster: osd.0", "cpu_quota", "ceph-osd"), plant: one(0, "cpu", func(g *scene.Group, _ *scene.Scene) error { return g.Quota(5) })},
		{name: "image-bytes", load: busy, named: says(imageLimits), plant: func(s *scene.Scene, c cluster) error {
			return c.images(s, "plimsoll-r2", "rbd_qos_bps_limit", "204800")
		}},
	}
}

// right reports whether the first explanation that is about the cluster is the right one; without a limit, whether there is none. Others are about
// the host, where other work may run.
func (l limit) right(found []finding.Explanation) bool {
	for _, e := range found {
		switch {
		case l.named != nil && l.named(e):
			return true
		case e.Rule == "storage_side":
			return false
		}
	}
	return l.named == nil
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
