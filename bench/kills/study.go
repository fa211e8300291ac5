package kills

import (
	"os/exec"
	"slices"
	"strings"
)

// victimKind is a kind of study to kill.
type victimKind struct {
	name   string
	study  string   // DIR is the folder of the study
	needs  []string // programs
	agents int      // of a fleet on this host
	events int      // of the journal, within which it is killed; 0 for an instant of the time that a whole run takes
	host   bool     // it changes settings that no namespace separates
	before []value  // settings of the host that are made beforehand
	after  []string // settings that are put back after the study, and others with them
}

// value is a setting of the host.
type value struct{ file, text string }

const quick = "measure: {settle: 10ms, warmup: 100ms, window: 300ms, longest: 900ms, interval: 100ms, blocks: 2, retries: 100}\nmargin: 50%\n"

var victims = []victimKind{
	{
		name: "sysctl", host: true,
		study: `platform: local
workload: {"null": {threads: 1}}
factors:
  host.sysctl:vm.swappiness: [11, 12]
  host.sysctl:vm.dirty_background_ratio: [7]
` + quick + "headline: [operations]\n",
		before: []value{{"/proc/sys/vm/dirty_background_bytes", "104857600"}},
		after:  []string{"/proc/sys/vm/dirty_background_ratio"},
	},
	{
		name: "storage", host: true, needs: []string{"fio"},
		study: `platform: local
workload: {storage: {disks: 2, size: 8MiB, block: 4KiB, read: 50%, random: 100%}}
factors:
  host.scheduler:vda: [none, kyber]
` + quick + "headline: [iops]\n",
		before: []value{{"/sys/block/vda/queue/nr_requests", "200"}},
		after:  []string{"/sys/block/vda/queue/nr_requests"},
	},
	{
		name: "groups",
		study: `platform: local
workload: {processor: {working_set: 64KiB, unit: 1KiB}}
factors:
  host.quota: ["0.4", "0.8"]
  host.cpuset: ["0"]
` + quick + "headline: [units]\n",
	},
	{
		name: "namespaces", needs: []string{"nginx", "ip", "ethtool"},
		study: `platform: local
service: {nginx: {instances: 2, network: namespaces, batching: 1ms}}
workload: {web: {connections: 2}}
factors:
  nginx.workers: [1, 2]
` + quick + "headline: [requests]\n",
	},
	{
		name: "redis", needs: []string{"redis-server"},
		study: `platform: local
service: redis
workload: {keyvalue: {keys: 1000, threads: 1}}
factors:
  redis.appendonly: ["true", "false"]
  host.sysctl:net.ipv4.tcp_fin_timeout: [20]
` + quick + "headline: [operations]\n",
	},
	{
		name: "postgresql", needs: []string{"postgres"},
		study: `platform: local
service: {postgresql: {shared_buffers: 16MiB}}
workload: {oltp: {tables: 1, rows: 1000, connections: 2}}
factors:
  postgresql.synchronous_commit: ["on", "off"]
` + quick + "headline: [transactions]\n",
	},
	{
		name: "mariadb", needs: []string{"mariadbd"},
		study: `platform: local
service: mariadb
workload: {oltp: {tables: 1, rows: 1000}}
factors:
  oltp.connections: [1, 2]
` + quick + "headline: [transactions]\n",
	},
	{
		name: "ceph", needs: []string{"ceph-mon", "ceph-osd", "ceph", "fio"}, events: 16, // most of the time is the start of the cluster
		study: `platform: local
service: {ceph: {osds: 2, size: 1GiB}}
workload: {storage: {disks: 1, size: 16MiB, block: 4KiB, read: 50%, random: 100%, precondition: zero}}
factors:
  ceph.redundancy: ["replica:1", "replica:2"]
` + quick + "headline: [iops]\n",
	},
	{
		name: "fleet", agents: 2,
		study: `platform: {fleet: {state: DIR/lab, listen: "127.0.0.1:4222", wait: 60s, lease: 5s}}
workload: {processor: {working_set: 64KiB, unit: 1KiB, think: 5ms}}
factors:
  host.sysctl:net.ipv4.tcp_syn_retries: [3, 4]
` + quick + "headline: [units]\n",
	},
	{
		name: "sim",
		study: `platform: {sim: {capacity: 4000/s, servers: 4, noise: 1%}}
workload: {"null": {threads: 4}}
factors:
  sim.knob: ["off", "on"]
measure: {warmup: 0s, window: 10s, interval: 100ms, longest: 10s, looks: [24]}
` + "headline: [operations]\n",
	},
	{
		name: "guest", needs: []string{"qemu-system-x86_64"}, events: 14, // most of the time is the boot

		study: `platform: {guest: {network: true, memory: 192MiB, boot: 10m}}
groups:
  server: {machines: 1, service: {reflector: {}}}
  client: {machines: 1, workload: {network: {test: tcp_rr}}}
factors:
  network.latency:eth0: [1ms, 3ms]
measure: {settle: 10ms, warmup: 100ms, window: 1s, longest: 3s, interval: 200ms, blocks: 1, retries: 100}
margin: 50%
headline: [transactions]
`,
	},
}

// text is the study file.
func (k *victimKind) text(dir string) string {
	return "study: killed\nquestion: Is the host put back?\n" + strings.ReplaceAll(k.study, "DIR", dir)
}

// lacks says why studies of the kind cannot run here.
func (k *victimKind) lacks() string {
	for _, name := range k.needs {
		if _, err := exec.LookPath(name); err != nil {
			return "there is no " + name
		}
	}
	return ""
}

func kindNames() (names []string) {
	for _, k := range victims {
		names = append(names, k.name)
	}
	return names
}

func kindOf(name string) *victimKind {
	return &victims[slices.IndexFunc(victims, func(k victimKind) bool { return k.name == name })]
}
