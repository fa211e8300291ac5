package cqliot

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"plimsoll/internal/cql"
	"plimsoll/internal/wire"
	"plimsoll/internal/workload"
)

// made describes the data of the keyspace. It is written when the data is complete.
func (i *iot) made() string {
	return fmt.Sprintf("2: %s, %d cycles, %d sources, %d stations, speed %d, words %q, text %q, replication %d, durable %t, compaction %s %d, compression %s",
		i.Mode, i.Rampup, i.Sources, i.Stations, i.Speed, i.Words, i.Text, i.Replication, i.Durable, i.Compaction, i.Window, i.Compression)
}

// Prepare creates the table with the ramp-up data, if it is missing. Data of earlier trials
// stays.
func (i *iot) Prepare(ctx context.Context, env workload.Env) error {
	nodes, err := i.places(env)
	if err == nil {
		err = i.prepare(ctx, nodes)
	}
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

func (i *iot) prepare(ctx context.Context, nodes []cql.Target) error {
	c, err := join(ctx, nodes, 0)
	if err != nil {
		return err
	}
	defer c.Close()
	there, err := hold(ctx, c)
	if err != nil {
		return err
	}
	if there.made == i.made() {
		return nil
	}
	if err := i.make(ctx, nodes, c); err != nil {
		return fmt.Errorf("fill the keyspace %s at %s: %w", keyspace, nodes[0].Address, err)
	}
	return nil
}

// hold is the description of the data in the keyspace; empty if it is missing or
// incomplete.
func hold(ctx context.Context, c *cql.Conn) (h held, err error) {
	rows, err := c.Query(ctx, "SELECT made, base, next FROM "+keyspace+".plimsoll WHERE id = 1")
	var f *cql.Fault
	if errors.As(err, &f) || err == nil && len(rows) == 0 {
		return h, nil
	}
	if err != nil {
		return h, fmt.Errorf("read the contents of keyspace %s: %w", keyspace, err)
	}
	tables, err := c.Query(ctx, "SELECT table_name FROM system_schema.tables WHERE keyspace_name = '"+keyspace+"' AND table_name = 'iot'")
	if err != nil {
		return h, fmt.Errorf("find the table of readings: %w", err)
	}
	if len(tables) == 0 {
		return h, nil // somebody dropped it
	}
	h.made = rows[0][0]
	for n, text := range rows[0][1:] {
		if *[]*int64{&h.base, &h.next}[n], err = strconv.ParseInt(text, 10, 64); err != nil {
			return h, fmt.Errorf("read the contents of keyspace %s: %w", keyspace, err)
		}
	}
	return h, nil
}

// schema are the statements that make the table, as the published workload has it.
func (i *iot) schema() []string {
	compaction := map[string]string{
		"time_window": fmt.Sprintf("'class': 'TimeWindowCompactionStrategy', 'compaction_window_size': %d, 'compaction_window_unit': 'MINUTES'", i.Window),
		"size_tiered": "'class': 'SizeTieredCompactionStrategy'", "leveled": "'class': 'LeveledCompactionStrategy'", "unified": "'class': 'UnifiedCompactionStrategy'",
	}[i.Compaction]
	compression := map[string]string{"lz4": "'class': 'LZ4Compressor'", "zstd": "'class': 'ZstdCompressor'", "none": "'enabled': false"}[i.Compression]
	return []string{
		fmt.Sprintf("CREATE KEYSPACE %s WITH replication = {'class': 'SimpleStrategy', 'replication_factor': %d} AND durable_writes = %t", keyspace, i.Replication, i.Durable),
		fmt.Sprintf(`CREATE TABLE %s.iot (machine_id uuid, sensor_name text, time timestamp, sensor_value double, station_id uuid, data text,
 PRIMARY KEY ((machine_id, sensor_name), time)) WITH CLUSTERING ORDER BY (time DESC) AND compression = {%s} AND compaction = {%s}`, keyspace, compression, compaction),
		"CREATE TABLE " + keyspace + ".plimsoll (id int PRIMARY KEY, made text, base bigint, next bigint)",
	}
}

// statements are the statements of the verbs, by number.
func (i *iot) statements() []cql.Statement {
	levels := cql.Consistencies()
	return []cql.Statement{
		write: {
			Text:       "INSERT INTO " + keyspace + ".iot (machine_id, sensor_name, time, sensor_value, station_id, data) VALUES (?, ?, ?, ?, ?, ?) USING TIMESTAMP ?",
			Parameters: 7, Consistency: levels[i.WriteConsistency],
		},
		read: {
			Text:       fmt.Sprintf("SELECT * FROM %s.iot WHERE machine_id = ? AND sensor_name = ? LIMIT %d", keyspace, i.Limit),
			Parameters: 2, Consistency: levels[i.ReadConsistency],
		},
	}
}

// make recreates the keyspace. In mode sound, the times of readings begin so far back that
// the ramp-up ends now.
func (i *iot) make(ctx context.Context, nodes []cql.Target, c *cql.Conn) error {
	if err := drop(ctx, c); err != nil {
		return err
	}
	for _, text := range i.schema() {
		if _, err := c.Query(ctx, text); err != nil {
			return err
		}
	}
	if err := agree(ctx, nodes[1:], c); err != nil {
		return err
	}
	base := int64(0)
	if i.Mode == sound {
		base = time.Now().UnixMilli() - int64(i.Rampup)*int64(i.Speed)/int64(i.Sources)
	}
	r, err := newReadings(i.Parameters, base)
	if err != nil {
		return err
	}
	if err := i.fill(ctx, nodes, r); err != nil {
		return err
	}
	_, err = c.Query(ctx, fmt.Sprintf("INSERT INTO %s.plimsoll (id, made, base, next) VALUES (1, '%s', %d, 0)", keyspace, strings.ReplaceAll(i.made(), "'", "''"), base))
	return err
}

// agree waits until other nodes have the tables of the first.
func agree(ctx context.Context, others []cql.Target, first *cql.Conn) error {
	ctx, cancel := context.WithTimeoutCause(ctx, time.Minute, errors.New("the nodes disagree on the schema: see their logs"))
	defer cancel()
	const version = "SELECT schema_version FROM system.local"
	want, err := first.Query(ctx, version)
	if err != nil {
		return err
	}
	for _, at := range others {
		c, err := cql.Dial(ctx, at)
		if err != nil {
			return err
		}
		defer c.Close()
		for {
			rows, err := c.Query(ctx, version)
			if err != nil {
				return err
			}
			if fmt.Sprint(rows) == fmt.Sprint(want) {
				break
			}
			again := time.NewTimer(100 * time.Millisecond)
			select {
			case <-again.C:
			case <-ctx.Done():
				again.Stop()
				return context.Cause(ctx)
			}
		}
	}
	return nil
}

// fillers is how many connections fill the table at once, and batch how many requests
// each has under way.
const (
	fillers = 4
	batch   = 64
)

// fill writes the ramp-up. The first error ends all.
func (i *iot) fill(ctx context.Context, nodes []cql.Target, r *readings) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var busy sync.WaitGroup
	for n := range fillers {
		busy.Go(func() {
			if err := i.fillPart(ctx, nodes[n%len(nodes)], r, int64(n)); err != nil {
				cancel(err)
			}
		})
	}
	busy.Wait()
	return context.Cause(ctx)
}

func (i *iot) fillPart(ctx context.Context, at cql.Target, r *readings, part int64) error {
	p, err := cql.DialPipe(ctx, at, i.statements())
	if err != nil {
		return err
	}
	defer func() { p.Close() }() // the last one
	for from, size, again := part, batch, 0; from < int64(i.Rampup); {
		c := from
		for n := 0; n < size && c < int64(i.Rampup); n++ {
			p.Add(int(write), func(b []byte) []byte { return r.appendReading(b, r.key(c), c) })
			c += fillers
		}
		err := p.Exchange(ctx, nil)
		switch {
		case err == nil:
			from, again = c, 0
		case again == mostAgain:
			return err
		case cql.Is(err, cql.WriteTimeout, cql.Overloaded): // writing the same rows again changes nothing
			again, size = again+1, max(1, size/2)
		case !cql.Is(err, cql.Unprepared):
			return err
		default:
			again++
			next, err := cql.DialPipe(ctx, at, i.statements())
			if err != nil {
				return err
			}
			p.Close()
			p = next
		}
	}
	return nil
}

// mostAgain is how often in a row rows are written again, to a node that is too slow for so
// many at once, or that has forgotten the statement, as it does when it hears of a new
// table from another node.
const mostAgain = 10

// Clean removes the keyspace. A server that is gone holds none.
func (i *iot) Clean(ctx context.Context, env workload.Env) error {
	if env.Target == nil {
		return nil
	}
	if _, err := env.Target(protocol); err != nil {
		return nil //nolint:nilerr // it does not run
	}
	nodes, err := i.places(env)
	if err != nil {
		return err
	}
	c, err := connect(ctx, nodes)
	if wire.Gone(err) {
		return nil
	} else if err != nil {
		return err
	}
	defer c.Close()
	if err := drop(ctx, c); err != nil {
		return fmt.Errorf("remove the keyspace %s: %w", keyspace, err)
	}
	return nil
}

// drop removes the keyspace, and its rows before: a Cassandra whose commit log is full
// flushes tables meanwhile, and stops where it finds that one is gone that had some.
func drop(ctx context.Context, c *cql.Conn) error {
	var refused *cql.Fault
	if _, err := c.Query(ctx, "TRUNCATE "+keyspace+".iot"); err != nil && !errors.As(err, &refused) {
		return err
	}
	_, err := c.Query(ctx, "DROP KEYSPACE IF EXISTS "+keyspace)
	return err
}
