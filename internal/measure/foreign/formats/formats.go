// Package formats lists the formats in which results of other tools can be read.
package formats

import (
	"bytes"
	"time"

	"plimsoll/internal/measure/foreign"
	"plimsoll/internal/measure/foreign/counter"
	"plimsoll/internal/measure/foreign/database"
	"plimsoll/internal/measure/foreign/keyvalue"
	"plimsoll/internal/measure/foreign/network"
	"plimsoll/internal/measure/foreign/storage"
	"plimsoll/internal/measure/foreign/table"
	"plimsoll/internal/measure/foreign/web"
)

// Options describe files that do not describe themselves.
type Options struct {
	Columns []table.Column // of CSV
	Unit    time.Duration  // of the values of an HDR log
}

// All lists the formats, the more specific first: a file is of the first that recognises it. CSV is recognised where
// there is a mapping.
func All(o Options) []foreign.Format {
	return []foreign.Format{
		table.CSV(o.Columns),
		database.Pgbench(), database.PgbenchLog(), database.Sysbench(), web.Wrk(), keyvalue.RedisBenchmark(), keyvalue.Memtier(),
		network.Iperf3(), network.Netperf(), database.Hammerdb(), database.HammerdbLog(), database.Ycsb(), web.K6(), web.Vegeta(), web.Oha(),
		storage.Vdbench(), storage.Iometer(), storage.Diskspd(), table.HDR(o.Unit), table.Benchfmt(), counter.Esxtop(), counter.Sysstat(), counter.Perf(),
	}
}

// Sniff finds the format of a file by its first bytes; nil if it is of none.
func Sniff(all []foreign.Format, head []byte) *foreign.Format {
	head = bytes.ReplaceAll(foreign.Decoded(head), []byte("\r\n"), []byte("\n"))
	for i := range all {
		if all[i].Sniff(head) {
			return &all[i]
		}
	}
	return nil
}
