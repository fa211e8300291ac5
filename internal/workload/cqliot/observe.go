package cqliot

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"plimsoll/internal/measure"
)

// observe records the effective settings of the load and of the server.
func (c *trialRun) observe(ctx context.Context, out *measure.Recorder) error {
	observed := map[string]string{"mode": c.iot.Mode, "driver": c.iot.Driver, "protocol": strconv.Itoa(c.iot.Protocol)}
	if c.iot.Driver == ownDriver {
		observed["connections"] = strconv.Itoa(min(c.ledger.Made()/len(c.nodes), c.iot.Connections))
		observed["read_consistency"], observed["write_consistency"] = c.iot.ReadConsistency, c.iot.WriteConsistency
	}
	if deepest := c.sum().deepest; deepest > 0 && c.iot.offer.Saturates() {
		observed["in_flight"] = strconv.Itoa(deepest)
	}
	if c.there.made == c.iot.made() {
		for name, value := range map[string]int{"rampup": c.iot.Rampup, "sources": c.iot.Sources, "stations": c.iot.Stations, "timespeed": c.iot.Speed} {
			observed[name] = strconv.Itoa(value)
		}
	}
	if err := c.observeSchema(ctx, observed); err != nil {
		return err
	}
	for name, value := range observed {
		out.Observe("cql-iot."+name, value)
	}
	return nil
}

// observeSchema queries the options of the keyspace and the table.
func (c *trialRun) observeSchema(ctx context.Context, observed map[string]string) error {
	session, err := connect(ctx, c.nodes)
	if err != nil {
		return err
	}
	defer session.Close()
	rows, err := session.Query(ctx, "SELECT replication, durable_writes FROM system_schema.keyspaces WHERE keyspace_name = '"+keyspace+"'")
	if err != nil {
		return fmt.Errorf("read the options of the keyspace: %w", err)
	}
	if len(rows) == 1 && len(rows[0]) == 2 {
		observed["durable_writes"] = rows[0][1]
		if factor, ok := options(rows[0][0])["replication_factor"]; ok {
			observed["replication"] = factor
		}
	}
	rows, err = session.Query(ctx, "SELECT compaction, compression FROM system_schema.tables WHERE keyspace_name = '"+keyspace+"' AND table_name = 'iot'")
	if err != nil {
		return fmt.Errorf("read the options of the table: %w", err)
	}
	if len(rows) != 1 || len(rows[0]) != 2 {
		return nil
	}
	compaction, compression := options(rows[0][0]), options(rows[0][1])
	for name, class := range map[string]string{"time_window": "TimeWindow", "size_tiered": "SizeTiered", "leveled": "Leveled", "unified": "Unified"} {
		if strings.HasSuffix(compaction["class"], "."+class+"CompactionStrategy") {
			observed["compaction"] = name
		}
	}
	if window, ok := compaction["compaction_window_size"]; ok {
		observed["compaction_window"] = window
	}
	switch {
	case compression["enabled"] == "false":
		observed["compression"] = "none"
	case strings.HasSuffix(compression["class"], ".LZ4Compressor"):
		observed["compression"] = "lz4"
	case strings.HasSuffix(compression["class"], ".ZstdCompressor"):
		observed["compression"] = "zstd"
	}
	return nil
}

// options are the entries of a map, as package cql writes it.
func options(text string) map[string]string {
	all := map[string]string{}
	for one := range strings.SplitSeq(text, ",") {
		name, value, _ := strings.Cut(one, "=")
		all[name] = value
	}
	return all
}
