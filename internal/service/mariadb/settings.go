package mariadb

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

// Settings are the settings of the server. Those of MariaDB keep their names.
type Settings struct {
	service.Placement
	service.Access

	BufferPoolSize    parameter.Bytes    `name:"innodb_buffer_pool_size" doc:"shared buffer pool for data pages" min:"5MiB"`
	LogFileSize       parameter.Bytes    `name:"innodb_log_file_size" doc:"size of the redo log" min:"4MiB"`
	LogBufferSize     parameter.Bytes    `name:"innodb_log_buffer_size" doc:"buffer for log not yet written" min:"2MiB"`
	FlushLog          int                `name:"innodb_flush_log_at_trx_commit" doc:"redo log at commit: 0 none, 1 write and flush, 2 write, 3 flush twice; with 0 and 2 a crash can lose commits" max:"3" unsafe:"0,2"`
	FlushMethod       string             `name:"innodb_flush_method" doc:"flushing of data and log files; O_DIRECT_NO_FSYNC can lose data" choices:"fsync,O_DSYNC,O_DIRECT,O_DIRECT_NO_FSYNC" unsafe:"O_DIRECT_NO_FSYNC"`
	Doublewrite       bool               `name:"innodb_doublewrite" doc:"doublewrite buffer against torn pages; off, a crash can corrupt pages" unsafe:"false"`
	IOCapacity        int                `name:"innodb_io_capacity" doc:"I/O operations per second for background flushing" min:"100" max:"1000000"`
	FlushNeighbors    int                `name:"innodb_flush_neighbors" doc:"flush neighbouring dirty pages: 0 none, 1 contiguous ones, 2 all of the extent" max:"2"`
	AdaptiveHashIndex bool               `name:"innodb_adaptive_hash_index" doc:"adaptive hash index"`
	LockWaitTimeout   parameter.Duration `name:"innodb_lock_wait_timeout" doc:"timeout of a wait for a row lock" min:"1s" max:"24h"`
	LogBin            bool               `name:"log_bin" doc:"write the binary log"`
	SyncBinlog        int                `name:"sync_binlog" doc:"commits between two syncs of the binary log, 0 leaves it to the kernel; with any but 1 a crash can lose some" max:"1000000" unsafe:"!1"`
	MaxConnections    int                `name:"max_connections" doc:"maximum number of concurrent sessions" min:"10" max:"100000"`
	ThreadHandling    string             `name:"thread_handling" doc:"thread model: one thread per connection, or a pool" choices:"one-thread-per-connection,pool-of-threads"`
	ThreadCacheSize   int                `name:"thread_cache_size" doc:"idle threads kept for new connections" max:"16384"`
	TableOpenCache    int                `name:"table_open_cache" doc:"open table instances kept in the cache" min:"10" max:"1048576"`
	TmpTableSize      parameter.Bytes    `name:"tmp_table_size" doc:"maximum size of an in-memory temporary table" min:"1KiB"`
	SortBufferSize    parameter.Bytes    `name:"sort_buffer_size" doc:"buffer for one sort" min:"1KiB"`
	Isolation         string             `name:"transaction_isolation" doc:"default transaction isolation level" choices:"READ-UNCOMMITTED,READ-COMMITTED,REPEATABLE-READ,SERIALIZABLE"`
	PerformanceSchema bool               `name:"performance_schema" doc:"enable the performance schema"`
}

func defaults() Settings {
	return Settings{
		Placement:      service.Alone(),
		Access:         service.Access{Verify: true},
		BufferPoolSize: 256 << 20, LogFileSize: 96 << 20, LogBufferSize: 16 << 20, FlushLog: 1, FlushMethod: "O_DIRECT", Doublewrite: true,
		IOCapacity: 200, FlushNeighbors: 1, LockWaitTimeout: parameter.Duration(50 * time.Second),
		MaxConnections: 200, ThreadHandling: "one-thread-per-connection", ThreadCacheSize: 200, TableOpenCache: 2000,
		TmpTableSize: 16 << 20, SortBufferSize: 2 << 20, Isolation: "REPEATABLE-READ",
	}
}

// config is the configuration file.
func (s Settings) config(place service.Location) []byte {
	var b strings.Builder
	set := func(name string, value any) { fmt.Fprintf(&b, "%s = %v\n", name, value) }
	onOff := func(name string, on bool) { set(name, map[bool]string{true: "ON", false: "OFF"}[on]) }
	size := func(name string, n parameter.Bytes) { set(name, int64(n)) }
	b.WriteString("[server]\n")
	if place.Root {
		set("user", "root")
	}
	set("bind_address", place.Host)
	set("port", place.Ports[0])
	b.WriteString("skip_name_resolve\n")
	set("local_infile", "ON")
	set("max_prepared_stmt_count", 1<<20)
	set("innodb_autoinc_lock_mode", 2) // concurrent sessions may fill a table with AUTO_INCREMENT
	set("innodb_buffer_pool_load_at_startup", "OFF")
	set("innodb_buffer_pool_dump_at_shutdown", "OFF")
	size("innodb_buffer_pool_size", s.BufferPoolSize)
	size("innodb_log_file_size", s.LogFileSize)
	size("innodb_log_buffer_size", s.LogBufferSize)
	set("innodb_flush_log_at_trx_commit", s.FlushLog)
	set("innodb_flush_method", s.FlushMethod)
	onOff("innodb_doublewrite", s.Doublewrite)
	set("innodb_io_capacity", s.IOCapacity)
	set("innodb_flush_neighbors", s.FlushNeighbors)
	onOff("innodb_adaptive_hash_index", s.AdaptiveHashIndex)
	set("innodb_lock_wait_timeout", int64(time.Duration(s.LockWaitTimeout).Seconds()))
	if s.LogBin {
		set("log_bin", "binlog") // in the data folder
		set("server_id", 1)
	}
	set("sync_binlog", s.SyncBinlog)
	set("max_connections", s.MaxConnections)
	set("thread_handling", s.ThreadHandling)
	set("thread_cache_size", s.ThreadCacheSize)
	set("table_open_cache", s.TableOpenCache)
	size("tmp_table_size", s.TmpTableSize)
	size("max_heap_table_size", max(s.TmpTableSize, 16<<10)) // the smaller of both applies
	size("sort_buffer_size", s.SortBufferSize)
	set("transaction_isolation", s.Isolation)
	onOff("performance_schema", s.PerformanceSchema)
	if s.TLS {
		set("ssl_cert", path.Join(place.Dir, service.CertFile))
		set("ssl_key", path.Join(place.Dir, service.KeyFile))
		set("loose_require_secure_transport", "ON") // from 10.5 on
	}
	return []byte(b.String())
}

// observe reads the settings back from the server.
func (c client) observe(ctx context.Context) (map[string]string, error) {
	names := []string{"'tx_isolation'"}
	kinds := map[string]parameter.Kind{}
	for _, f := range parameter.Fields(defaults()) {
		names, kinds[f.Name] = append(names, "'"+f.Name+"'"), f.Kind
	}
	rows, err := c.Ask(ctx, "SHOW GLOBAL VARIABLES WHERE Variable_name IN ("+strings.Join(names, ", ")+")")
	if err != nil {
		return nil, err
	}
	observed := map[string]string{}
	for _, row := range rows {
		name := strings.ToLower(row[0])
		if name == "tx_isolation" { // before version 11
			name = "transaction_isolation"
		}
		text, err := canonical(kinds[name], row[1])
		if err != nil {
			return nil, fmt.Errorf("unexpected value of %s from the server, %q: %w", name, row[1], err)
		}
		observed[name] = text
	}
	if rows, err = c.Ask(ctx, "SHOW SESSION STATUS LIKE 'Ssl_version'"); err != nil {
		return nil, err
	}
	observed["tls"] = strconv.FormatBool(len(rows) == 1 && rows[0][1] != "")
	return observed, nil
}

// canonical is a setting in the notation of studies.
func canonical(kind parameter.Kind, value string) (string, error) {
	switch kind {
	case parameter.KindSwitch:
		return strconv.FormatBool(value != "OFF" && value != "0"), nil
	case parameter.KindBytes:
		n, err := strconv.ParseInt(value, 10, 64)
		return parameter.Bytes(n).String(), err
	case parameter.KindDuration:
		n, err := strconv.ParseInt(value, 10, 64)
		return parameter.Duration(time.Duration(n) * time.Second).String(), err
	}
	return value, nil
}
