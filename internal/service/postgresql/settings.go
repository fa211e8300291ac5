package postgresql

import (
	"context"
	"fmt"
	"path"
	"strconv"
	"strings"
	"time"

	"plimsoll/internal/parameter"
	"plimsoll/internal/service"
)

// Settings are the settings of the server. Those of PostgreSQL keep their names.
type Settings struct {
	service.Placement
	service.Access

	SharedBuffers      parameter.Bytes    `name:"shared_buffers" doc:"shared buffer pool for data pages" min:"1MiB"`
	EffectiveCacheSize parameter.Bytes    `name:"effective_cache_size" doc:"planner's estimate of the memory for caching, page cache of the kernel included" min:"1MiB"`
	WorkMem            parameter.Bytes    `name:"work_mem" doc:"memory for one sort or hash operation" min:"64KiB"`
	MaintenanceWorkMem parameter.Bytes    `name:"maintenance_work_mem" doc:"memory for maintenance operations such as CREATE INDEX and VACUUM" min:"1MiB"`
	HugePages          string             `name:"huge_pages" doc:"huge pages for shared memory" choices:"off,try,on"`
	MaxConnections     int                `name:"max_connections" doc:"maximum number of concurrent sessions" min:"4" max:"10000"`
	Fsync              bool               `name:"fsync" doc:"fsync WAL and data; off, a crash of the host can corrupt the cluster" unsafe:"false"`
	SynchronousCommit  string             `name:"synchronous_commit" doc:"durability a commit waits for; off, a crash can lose the last commits" choices:"on,off,local" unsafe:"off"`
	FullPageWrites     bool               `name:"full_page_writes" doc:"write the full page to the WAL on its first change after a checkpoint; off, a crash can corrupt pages" unsafe:"false"`
	WALCompression     string             `name:"wal_compression" doc:"compression of full-page writes" choices:"off,pglz,lz4,zstd"`
	WALBuffers         parameter.Bytes    `name:"wal_buffers" doc:"buffer for log not yet written" min:"64KiB"`
	MinWALSize         parameter.Bytes    `name:"min_wal_size" doc:"WAL files up to this size are recycled" min:"32MiB"`
	MaxWALSize         parameter.Bytes    `name:"max_wal_size" doc:"WAL size that starts a checkpoint" min:"32MiB"`
	CheckpointTimeout  parameter.Duration `name:"checkpoint_timeout" doc:"maximum time between checkpoints" min:"30s" max:"24h"`
	CheckpointTarget   parameter.Share    `name:"checkpoint_completion_target" doc:"share of the checkpoint interval over which writes are spread"`
	RandomPageCost     float64            `name:"random_page_cost" doc:"planner cost of a random page fetch" min:"0" max:"1000"`
	IOConcurrency      int                `name:"effective_io_concurrency" doc:"concurrent disk reads of a bitmap heap scan" min:"0" max:"1000"`
	Autovacuum         bool               `name:"autovacuum" doc:"run the autovacuum launcher"`
	JIT                bool               `name:"jit" doc:"JIT compilation of expressions in expensive queries"`
}

func defaults() Settings {
	return Settings{
		Placement:     service.Alone(),
		Access:        service.Access{Verify: true},
		SharedBuffers: 256 << 20, EffectiveCacheSize: 1 << 30, WorkMem: 4 << 20, MaintenanceWorkMem: 64 << 20, HugePages: "try",
		MaxConnections: 200, Fsync: true, SynchronousCommit: "on", FullPageWrites: true, WALCompression: "off",
		WALBuffers: 8 << 20, MinWALSize: 80 << 20, MaxWALSize: 1 << 30,
		CheckpointTimeout: parameter.Duration(5 * time.Minute), CheckpointTarget: .9,
		RandomPageCost: 4, IOConcurrency: 1, Autovacuum: true, JIT: true,
	}
}

// config is the configuration file.
func (s Settings) config(found service.Found, place service.Location) []byte {
	var b strings.Builder
	set := func(name string, value any) { fmt.Fprintf(&b, "%s = '%v'\n", name, value) }
	onOff := func(name string, on bool) { set(name, map[bool]string{true: "on", false: "off"}[on]) }
	size := func(name string, n parameter.Bytes) { set(name, fmt.Sprintf("%dkB", (n+1023)/1024)) }
	set("listen_addresses", place.Host)
	set("port", place.Ports[0])
	set("unix_socket_directories", "")
	set("wal_level", "minimal") // there is no standby and no archive
	set("max_wal_senders", 0)
	set("dynamic_shared_memory_type", "mmap") // in files of a folder in memory, see the starter
	set("log_timezone", "GMT")
	set("log_line_prefix", "%m [%p] ")
	onOff("log_checkpoints", true) // see events
	set("timezone", "GMT")
	size("shared_buffers", s.SharedBuffers)
	size("effective_cache_size", s.EffectiveCacheSize)
	size("work_mem", s.WorkMem)
	size("maintenance_work_mem", s.MaintenanceWorkMem)
	set("huge_pages", s.HugePages)
	set("max_connections", s.MaxConnections)
	onOff("fsync", s.Fsync)
	set("synchronous_commit", s.SynchronousCommit)
	onOff("full_page_writes", s.FullPageWrites)
	compression := s.WALCompression
	if !found.AtLeast("15") && compression == "pglz" {
		compression = "on"
	}
	set("wal_compression", compression)
	size("wal_buffers", s.WALBuffers)
	size("min_wal_size", s.MinWALSize)
	size("max_wal_size", s.MaxWALSize)
	set("checkpoint_timeout", fmt.Sprintf("%ds", int64(time.Duration(s.CheckpointTimeout).Seconds())))
	set("checkpoint_completion_target", float64(s.CheckpointTarget))
	set("random_page_cost", s.RandomPageCost)
	set("effective_io_concurrency", s.IOConcurrency)
	onOff("autovacuum", s.Autovacuum)
	onOff("jit", s.JIT)
	onOff("ssl", s.TLS)
	if s.TLS {
		set("ssl_cert_file", path.Join(place.Dir, service.CertFile))
		set("ssl_key_file", path.Join(place.Dir, "own.key"))
	}
	return []byte(b.String())
}

// rules are the lines of pg_hba.conf.
func (s Settings) rules() []byte {
	if s.TLS {
		return []byte("hostssl all all samenet trust\n")
	}
	return []byte("host all all samenet trust\n")
}

// observe reads the settings back from the server.
func (c client) observe(ctx context.Context) (map[string]string, error) {
	fields := parameter.Fields(defaults())
	names := make([]string, len(fields))
	kinds := map[string]parameter.Kind{}
	for i, f := range fields {
		names[i], kinds[f.Name] = "'"+f.Name+"'", f.Kind
	}
	rows, err := c.Ask(ctx, "SELECT name, setting, coalesce(unit, '') FROM pg_settings WHERE name IN ("+strings.Join(names, ", ")+
		") UNION ALL SELECT 'tls', CASE WHEN ssl THEN 'on' ELSE 'off' END, '' FROM pg_stat_ssl WHERE pid = pg_backend_pid()")
	if err != nil {
		return nil, err
	}
	observed := map[string]string{}
	for _, row := range rows {
		text, err := canonical(kinds[row[0]], row[1], row[2])
		if err != nil {
			return nil, fmt.Errorf("unexpected value of %s from the server, %q: %w", row[0], row[1], err)
		}
		observed[row[0]] = text
	}
	if observed["wal_compression"] == "on" { // before version 15
		observed["wal_compression"] = "pglz"
	}
	return observed, nil
}

// canonical is a setting in the notation of studies.
func canonical(kind parameter.Kind, value, unit string) (string, error) {
	switch kind {
	case parameter.KindSwitch:
		return strconv.FormatBool(value == "on"), nil
	case parameter.KindBytes:
		n, err := strconv.ParseInt(value, 10, 64)
		scale := map[string]int64{"B": 1, "kB": 1 << 10, "8kB": 8 << 10, "MB": 1 << 20, "GB": 1 << 30}[unit]
		if err == nil && scale == 0 {
			err = fmt.Errorf("its unit %q is not known", unit)
		}
		return parameter.Bytes(n * scale).String(), err
	case parameter.KindDuration:
		n, err := strconv.ParseInt(value, 10, 64)
		scale := map[string]time.Duration{"us": time.Microsecond, "ms": time.Millisecond, "s": time.Second, "min": time.Minute}[unit]
		if err == nil && scale == 0 {
			err = fmt.Errorf("its unit %q is not known", unit)
		}
		return parameter.Duration(time.Duration(n) * scale).String(), err
	case parameter.KindShare:
		f, err := strconv.ParseFloat(value, 64)
		return parameter.Share(f).String(), err
	}
	return value, nil
}
