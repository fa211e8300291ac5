package cassandra

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"plimsoll/internal/parameter"
	"plimsoll/internal/platform"
	"plimsoll/internal/service"
)

// Settings are the settings of the server. Those of Cassandra keep their names.
type Settings struct {
	service.Access `address:"addresses of nodes you provide, host:port separated by commas; empty starts them" user:"user name at a server you provide" database:"-" tls:"require TLS from clients; nodes that plimsoll starts get a certificate made for the run"`

	Jars  string `name:"jars" doc:"folder with Cassandra's jars; empty is the folder of plimsoll service cassandra fetch"`
	Nodes int    `name:"nodes" doc:"nodes of the ring, all on this machine" min:"1" max:"8"`

	Heap                 parameter.Bytes    `name:"heap" doc:"Java heap of each node" min:"256MiB"`
	Collector            string             `name:"collector" doc:"garbage collector" choices:"g1,parallel,serial"`
	Compiler             string             `name:"compiler" doc:"JIT compilation: full, or only the first tier (quick), which starts faster and is not for measurements" choices:"full,quick"`
	CommitLogSync        string             `name:"commitlog_sync" doc:"commit log sync mode; with batch and group a write waits for the sync, with periodic a crash can lose the last writes" choices:"periodic,batch,group" unsafe:"periodic"`
	CommitLogSyncPeriod  parameter.Duration `name:"commitlog_sync_period" doc:"interval between commit log syncs; 0s is Cassandra's default, 10s for periodic and 10ms for group; not for batch" max:"1h"`
	CommitLogSpace       parameter.Bytes    `name:"commitlog_total_space" doc:"commit log size that starts a flush of the oldest memtables" min:"128MiB"`
	MemtableHeap         parameter.Bytes    `name:"memtable_heap_space" doc:"memtable space on the heap" min:"16MiB"`
	MemtableOffheap      parameter.Bytes    `name:"memtable_offheap_space" doc:"memtable space off the heap" min:"16MiB"`
	MemtableAllocation   string             `name:"memtable_allocation_type" doc:"memtable allocation type" choices:"heap_buffers,offheap_buffers,offheap_objects"`
	ConcurrentReads      int                `name:"concurrent_reads" doc:"concurrent reads" min:"2" max:"1024"`
	ConcurrentWrites     int                `name:"concurrent_writes" doc:"concurrent writes" min:"2" max:"1024"`
	ConcurrentCompactors int                `name:"concurrent_compactors" doc:"concurrent compactions" min:"1" max:"128"`
	CompactionThroughput parameter.Bytes    `name:"compaction_throughput" doc:"compaction throughput limit in bytes per second; 0B is no limit"`
}

func defaults() Settings {
	return Settings{
		Access: service.Access{Verify: true}, Nodes: 1, Heap: 1 << 30, Collector: "g1", Compiler: "full",
		CommitLogSync: periodic, CommitLogSpace: 512 << 20,
		MemtableHeap: 256 << 20, MemtableOffheap: 256 << 20, MemtableAllocation: "heap_buffers",
		ConcurrentReads: 32, ConcurrentWrites: 32, ConcurrentCompactors: 2, CompactionThroughput: 64 << 20,
	}
}

const (
	periodic = "periodic"
	group    = "group"
)

// longestGroup is the maximum window of a group: a starting node makes dozens of sequential
// writes, each of which waits for a window.
const longestGroup = time.Second

// keyFile is the file with the certificate and the key of nodes with TLS.
const keyFile = "server.pem"

// mebibytes is a size in Cassandra's notation.
func mebibytes(n parameter.Bytes) string { return fmt.Sprintf("%dMiB", (int64(n)+1<<20-1)>>20) }

// node is one node of a ring.
type node struct {
	number       int // from 0
	host         string
	port, gossip int
	seed         string
	dir          string
	cluster      string
}

// config is cassandra.yaml of a node.
func (s Settings) config(n node) []byte {
	var b strings.Builder
	set := func(name string, value any) { fmt.Fprintf(&b, "%s: %v\n", name, value) }
	set("cluster_name", strconv.Quote(n.cluster))
	set("num_tokens", 1)
	set("initial_token", strconv.Quote(strconv.FormatInt(s.token(n.number), 10)))
	set("partitioner", "org.apache.cassandra.dht.Murmur3Partitioner")
	set("commitlog_sync", s.CommitLogSync)
	switch s.CommitLogSync {
	case periodic:
		set("commitlog_sync_period", milliseconds(cmp.Or(s.CommitLogSyncPeriod, parameter.Duration(10*time.Second))))
	case group:
		set("commitlog_sync_group_window", milliseconds(cmp.Or(s.CommitLogSyncPeriod, parameter.Duration(10*time.Millisecond))))
	}
	set("commitlog_total_space", mebibytes(s.CommitLogSpace))
	for name, folder := range map[string]string{"commitlog_directory": "commitlog", "hints_directory": "hints", "saved_caches_directory": "saved_caches", "cdc_raw_directory": "cdc"} {
		set(name, strconv.Quote(path.Join(n.dir, folder)))
	}
	set("data_file_directories", "["+strconv.Quote(path.Join(n.dir, "data"))+"]")
	set("endpoint_snitch", "SimpleSnitch")
	set("seed_provider", `[{class_name: org.apache.cassandra.locator.SimpleSeedProvider, parameters: [{seeds: "`+n.seed+`"}]}]`)
	set("listen_address", n.host)
	set("rpc_address", n.host)
	set("storage_port", n.gossip)
	set("native_transport_port", n.port)
	set("start_native_transport", true)
	set("auto_snapshot", false)
	set("disk_failure_policy", "die") // and log the reason: otherwise a node keeps running without serving
	set("auto_bootstrap", false)      // a new ring has no data to stream, so its nodes need not wait
	if s.TLS {
		set("client_encryption_options", `{enabled: true, optional: false, ssl_context_factory: {class_name: org.apache.cassandra.security.PEMBasedSslContextFactory}, keystore: "`+path.Join(path.Dir(n.dir), keyFile)+`"}`)
	}
	set("memtable_heap_space", mebibytes(s.MemtableHeap))
	set("memtable_offheap_space", mebibytes(s.MemtableOffheap))
	set("memtable_allocation_type", s.MemtableAllocation)
	set("concurrent_reads", s.ConcurrentReads)
	set("concurrent_writes", s.ConcurrentWrites)
	set("concurrent_compactors", s.ConcurrentCompactors)
	set("compaction_throughput", mebibytes(s.CompactionThroughput)+"/s")
	return []byte(b.String())
}

func milliseconds(d parameter.Duration) string {
	return fmt.Sprintf("%dms", time.Duration(d).Milliseconds())
}

// token is the start of a node's range: nodes divide the ring evenly.
func (s Settings) token(number int) int64 {
	if s.Nodes == 1 {
		return 0
	}
	return -1<<63 + int64(uint64(number)*(1<<63/uint64(s.Nodes)*2))
}

// read are the settings that the server reports, by its names.
func read() []string {
	return []string{
		"commitlog_sync", "commitlog_total_space", "memtable_heap_space", "memtable_offheap_space", "memtable_allocation_type",
		"concurrent_reads", "concurrent_writes", "concurrent_compactors", "compaction_throughput", "commitlog_sync_period", "commitlog_sync_group_window",
	}
}

var quantity = regexp.MustCompile(`^(\d+)(B|KiB|MiB|GiB|ms|s|m|h)(/s)?$`)

// canonical is a setting in the notation of studies.
func canonical(value string) string {
	m := quantity.FindStringSubmatch(value)
	if m == nil {
		return value
	}
	n, err := strconv.ParseInt(m[1], 10, 64)
	if err != nil {
		return value
	}
	if scale := map[string]int64{"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}[m[2]]; scale > 0 {
		return parameter.Bytes(n * scale).String()
	}
	scale := map[string]time.Duration{"ms": time.Millisecond, "s": time.Second, "m": time.Minute, "h": time.Hour}[m[2]]
	return parameter.Duration(time.Duration(n) * scale).String()
}

// observe reads the settings back from a node.
func (c client) observe(ctx context.Context) (map[string]string, error) {
	rows, err := c.Ask(ctx, "SELECT name, value FROM system_views.settings")
	if err != nil {
		return nil, err
	}
	told := map[string]string{}
	for _, row := range rows {
		told[row[0]] = row[1]
	}
	observed := map[string]string{}
	for _, name := range read() {
		if value, ok := told[name]; ok {
			observed[name] = canonical(value)
		}
	}
	if observed["commitlog_sync"] == group {
		observed["commitlog_sync_period"] = observed["commitlog_sync_group_window"]
	}
	delete(observed, "commitlog_sync_group_window")
	if rows, err = c.Ask(ctx, "SELECT ssl_enabled FROM system_views.clients"); err != nil {
		return nil, err
	}
	secured := slices.ContainsFunc(rows, func(row []string) bool { return row[0] == "true" }) // such as the connection of this query
	observed["tls"] = strconv.FormatBool(secured && (c.Endpoint.TLS || len(c.Endpoint.CA) > 0))
	return observed, nil
}

var (
	capacity  = regexp.MustCompile(`Heap Max Capacity: (\d+)([MG])`)
	collector = regexp.MustCompile(`Using (\w+)`)
)

// observeJava reads the Java settings from the log of its start.
func observeJava(ctx context.Context, m platform.Machine, dir string, observed map[string]string) {
	data, err := m.ReadFile(ctx, path.Join(dir, "0", "gc.log"))
	if err != nil {
		return // not reported
	}
	if f := capacity.FindSubmatch(data); f != nil {
		observed["heap"] = canonical(string(f[1]) + string(f[2]) + "iB")
	}
	if f := collector.FindSubmatch(data); f != nil {
		observed["collector"] = strings.ToLower(string(f[1]))
	}
}
