package ceph

import (
	"crypto/rand"
	_ "embed"
	"fmt"
	"strings"

	"plimsoll/internal/service"
)

// starter starts the daemons.
//
//go:embed start.sh
var starter string

// confFile is the configuration of the daemons.
const confFile = "ceph.conf"

// conf is the configuration of the daemons of a machine and, without their pool, of the clients.
func (l *launch) conf(place service.Location, machine int) []byte {
	s := l.settings
	var b strings.Builder
	b.WriteString("[global]\n")
	set := func(name string, value any) { fmt.Fprintf(&b, "%s = %v\n", name, value) }
	set("fsid", l.fsid)
	set("mon host", fmt.Sprintf("[v2:%s,v1:%s]", l.monitor.Address(0), l.monitor.Address(1)))
	set("public addr", place.Host)
	set("cluster addr", s.replication(place.Host))
	for _, who := range []string{"cluster", "service", "client"} {
		set("auth "+who+" required", "none")
	}
	set("keyring", "/dev/null")
	set("run dir", place.Dir)
	set("chdir", "") // a process is known by its folder
	set("admin socket", socketOf(place.Dir, "$name"))
	set("pid file", "")
	set("log file", "")
	set("log to stderr", true)
	set("err to stderr", true)
	set("mon data", place.Dir+"/mon.$id.data")
	set("osd data", place.Dir+"/osd.$id.data")
	set("mon cluster log file", "")
	set("paxos propose interval", .05) // each command of a new cluster waits for it
	set("mon data avail warn", 1)
	set("mon data avail crit", 1)
	set("mon max pg per osd", 1000)
	set("mon allow pool delete", true)
	set("mon allow pool size one", true)
	set("mon osd reporter subtree level", "osd") // all OSDs are on one host, and one that hangs is reported by others
	set("mon osd min down reporters", min(2, max(1, s.OSDs-1)))
	set("mon osd down out interval", 0) // only the fault lose marks an OSD out
	set("osd crush chooseleaf type", 0) // the parts of an object need OSDs, not hosts, of their own
	if l.policy.machines > 1 {
		set("crush location", fmt.Sprintf("root=default host=machine%d", 1+machine))
	}
	set("osd class update on start", false)
	set("osd crush update on start", s.Sites == 1) // sites are in the CRUSH map before their OSDs start
	set("osd pool default pg autoscale mode", "off")
	set("osd objectstore", "bluestore")
	set("bluestore block create", true)
	set("bluestore block size", int64(s.Size))
	set("bluestore cache autotune", false) // so that cache is exact
	set("bluestore cache size", int64(s.Cache))
	set("ms async op threads", 1)
	set("osd op num shards", 2)
	set("osd op num threads per shard", 1)
	set("rbd default features", 1) // layering: without an exclusive lock, several clients write to an image
	if s.Network == namespaces {
		net := subnetOf(l.monitor.Ports[0])
		for n := range s.OSDs {
			fmt.Fprintf(&b, "\n[%s]\npublic addr = %s\ncluster addr = %[2]s\n", osd(n), net.osd(n))
		}
	}
	b.WriteString("\n[client]\nadmin socket =\nlog to stderr = false\n")
	return []byte(b.String())
}

// replication is the address that OSDs talk to each other at. It is one of its own on the loopback, so that their traffic can be told.
func (s Settings) replication(host string) string {
	if host == service.Loopback {
		return "127.0.0.2"
	}
	return host
}

// uuid is a random UUID of version 4 (RFC 4122).
func uuid() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // it never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}
