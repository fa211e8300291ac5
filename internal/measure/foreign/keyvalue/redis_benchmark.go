package keyvalue

import (
	"strings"

	"plimsoll/internal/measure"
	"plimsoll/internal/measure/foreign"
	"plimsoll/internal/pattern"
)

// RedisBenchmark is the report of redis-benchmark and valkey-benchmark.
func RedisBenchmark() foreign.Format {
	return foreign.Format{
		Name: "redis-benchmark", Doc: "standard output of `redis-benchmark` or `valkey-benchmark`: text, `-q` or `--csv`", Rate: "operations", Metrics: measure.OperationMetrics("operations"),
		Absent: "Response times other than p50 and the slowest with `-q`, and all of them before 6.2. Errors, versions, and with `-q` and `--csv` clients and requests. " +
			"Each test is a class of operations; the LPUSH that fills the list for LRANGE is skipped. It is a closed loop: stalls of the server are under-represented (coordinated omission).",
		Sniff: func(head []byte) bool {
			return redisTest().Match(head) || redisBegun().Match(head) || redisQuiet().Match(head) || redisHead().Match(head) || redisRow().Match(head)
		},
		Parse: parseRedisBenchmark,
	}
}

const coordinated = "closed loop: response times count from the actual start of a request, so that stalls of the server are under-represented (coordinated omission)"

var (
	redisTest    = pattern.Of(`(?m)(?:^|\r)====== (.+) ======\s*$`)
	redisBegun   = pattern.Of(`(?m)(?:^|\r) *[A-Z][^:\r\n]*: rps=\S+ \(overall: `) // progress, which may be longer than the head
	redisQuiet   = pattern.Of(`(?m)(?:^|\r)([A-Z][^:\r\n]*): (\S+) requests per second(?:, p50=(\S+) msec)?`)
	redisRow     = pattern.Of(`^"[A-Z][^"]*","\d+(\.\d+)?"\s*(?:\n|$)`)
	redisHead    = pattern.Of(`(?m)^"test","rps"`)
	redisDone    = pattern.Of(`^\s+(\d+) requests completed in (\S+) seconds`)
	redisClients = pattern.Of(`^\s+(\d+) parallel clients`)
	redisPayload = pattern.Of(`^\s+(\d+) bytes payload`)
	redisRate    = pattern.Of(`^\s*(?:throughput summary: )?(\S+) requests per second\s*$`)
	redisShort   = pattern.Of(` \(.*`)
)

const (
	enoughForP99 = 1000 // requests
	redisName    = 40   // bytes of the name of a test
)

// redisBenchmark reads the report of one run, whose tests ran in turn.
type redisBenchmark struct {
	run     foreign.Run
	prefix  string
	columns []string // of the table of latencies that follows
	csv     []string // header
}

func parseRedisBenchmark(t *foreign.Text) ([]foreign.Run, error) {
	b := &redisBenchmark{run: foreign.NewRun("redis-benchmark")}
	for t.Next() {
		line := t.Line()
		if i := strings.LastIndexByte(line, '\r'); i >= 0 { // progress
			line = line[i+1:]
		}
		if err := b.line(line); err != nil {
			return nil, t.Errorf("%w", err)
		}
	}
	if len(b.run.Classes) > 0 {
		b.run.Warn(coordinated)
	}
	return []foreign.Run{b.run}, t.Err()
}

// test begins a test, and reports whether it is one: redis-benchmark also fills the list that LRANGE reads. What stands in
// parentheses describes the test.
func (b *redisBenchmark) test(name string) bool {
	b.prefix, b.columns = "", nil
	if strings.Contains(name, "(needed to benchmark ") {
		return false
	}
	name = redisShort().ReplaceAllString(name, "")
	b.prefix = b.run.Class(name[:min(len(name), redisName)]) // it may be a long command
	return true
}

func (b *redisBenchmark) line(line string) error {
	r := &b.run
	if strings.HasPrefix(line, `"`) {
		return b.row(line)
	}
	if m := redisTest().FindStringSubmatch(line); m != nil {
		b.test(m[1])
		return nil
	}
	if m := redisQuiet().FindStringSubmatch(line); m != nil {
		if !b.test(m[1]) {
			return nil
		}
		if m[3] != "" {
			if err := r.Set(b.prefix+"p50", m[3], 1e-3); err != nil {
				return err
			}
		}
		return r.Set(b.prefix+"operations", m[2], 1)
	}
	if b.prefix == "" {
		return nil
	}
	if m := redisDone().FindStringSubmatch(line); m != nil {
		n, err := foreign.Count(m[1])
		if err != nil {
			return err
		}
		r.Counts[b.prefix+"operations"] = n
		v, err := foreign.Number(m[2])
		r.Length += foreign.Duration(v)
		return err
	}
	for level, p := range map[string]pattern.Pattern{"redis.clients": redisClients, "redis.payload": redisPayload} {
		if m := p().FindStringSubmatch(line); m != nil {
			r.Levels[level] = m[1]
			return nil
		}
	}
	if m := redisRate().FindStringSubmatch(line); m != nil {
		return r.Set(b.prefix+"operations", m[1], 1)
	}
	return b.table(strings.Fields(line))
}

// table reads the summary of latencies in ms: a line with the columns, then one with the values.
func (b *redisBenchmark) table(fields []string) error {
	if len(fields) > 2 && fields[0] == "avg" && fields[1] == "min" {
		b.columns = fields
		return nil
	}
	if b.columns == nil || len(fields) != len(b.columns) {
		return nil
	}
	for i, name := range b.columns {
		if err := b.latency(name, fields[i]); err != nil {
			return err
		}
	}
	b.columns = nil
	return nil
}

func (b *redisBenchmark) latency(name, text string) error {
	v, err := foreign.Number(text)
	if err != nil {
		return err
	}
	switch name {
	case "avg":
		b.run.Values[b.prefix+"mean"] = v / 1e3
	case "max":
		b.run.Values[b.prefix+"max"] = v / 1e3
	default:
		n, ok := b.run.Counts[b.prefix+"operations"]
		if !ok {
			n = enoughForP99
			b.run.Warn("the number of requests is not in the file: p99 is meaningful from 1,000 requests on (default: 100,000)")
		}
		b.run.Quantile(b.prefix+name, v/1e3, n)
	}
	return nil
}

// row reads a line of CSV: test and rate, and since 6.2 latencies that a header names.
func (b *redisBenchmark) row(line string) error {
	fields := redisFields(line, max(2, len(b.csv)))
	if fields[0] == "test" {
		b.csv = fields
		return nil
	}
	if len(fields) < 2 || b.csv != nil && len(fields) != len(b.csv) {
		return foreign.Truncated(len(fields), max(2, len(b.csv)))
	}
	if !b.test(fields[0]) {
		return nil
	}
	if err := b.run.Set(b.prefix+"operations", fields[1], 1); err != nil {
		return err
	}
	for i, name := range b.csv {
		if short, ok := strings.CutSuffix(name, "_latency_ms"); ok {
			if err := b.latency(short, fields[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

// redisFields splits a line of CSV. redis-benchmark does not escape quotes in the name of a test, which may be a command:
// what exceeds the columns belongs to it.
func redisFields(line string, columns int) []string {
	const between = `","`
	line = strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(line), `"`), `"`)
	fields := strings.Split(line, between)
	if surplus := len(fields) - columns; surplus > 0 && fields[0] != "test" {
		fields = append([]string{strings.Join(fields[:surplus+1], between)}, fields[surplus+1:]...)
	}
	return fields
}
