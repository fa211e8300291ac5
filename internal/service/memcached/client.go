package memcached

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"plimsoll/internal/load"
	"plimsoll/internal/measure"
	"plimsoll/internal/parameter"
	"plimsoll/internal/platform"
	"plimsoll/internal/service"
)

// client asks a server a question at a time, each on a connection of its own.
type client struct {
	machine  platform.Machine // from which it is asked
	endpoint load.Endpoint
}

func (c client) live() service.Live {
	return service.Live{Endpoints: map[string]load.Endpoint{"memcached": c.endpoint}, Observe: c.observe, Count: c.count}
}

// stats asks for the general statistics, or for those of a topic.
func (c client) stats(ctx context.Context, topic string) (map[string]string, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	conn, err := service.Dial(ctx, c.machine, c.endpoint)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	if _, err := io.WriteString(conn, strings.TrimSpace("stats "+topic)+"\r\n"); err != nil {
		return nil, fmt.Errorf("ask the server at %s: %w", c.endpoint.Address, err)
	}
	stats, err := parse(bufio.NewReader(io.LimitReader(conn, 1<<20)))
	if err != nil && ctx.Err() != nil {
		return nil, fmt.Errorf("ask the server at %s: %w", c.endpoint.Address, context.Cause(ctx))
	}
	if err != nil {
		return nil, fmt.Errorf("what listens at %s does not speak the protocol of memcached: %w", c.endpoint.Address, err)
	}
	return stats, nil
}

func parse(from *bufio.Reader) (map[string]string, error) {
	stats := map[string]string{}
	for {
		line, err := from.ReadSlice('\n')
		if err != nil {
			return nil, err
		}
		text := strings.TrimRight(string(line), "\r\n")
		if text == "END" {
			return stats, nil
		}
		name, value, ok := strings.Cut(strings.TrimPrefix(text, "STAT "), " ")
		if !ok || !strings.HasPrefix(text, "STAT ") {
			return nil, fmt.Errorf("it answers %q", text)
		}
		stats[name] = value
	}
}

// observe reads the settings back.
func (c client) observe(ctx context.Context) (map[string]string, error) {
	stats, err := c.stats(ctx, "settings")
	if err != nil {
		return nil, err
	}
	observed := map[string]string{}
	for field, name := range map[string]string{"num_threads": "threads", "maxconns": "connections", "maxbytes": "memory", "item_size_max": "max_item"} {
		n, err := strconv.ParseInt(stats[field], 10, 64)
		if err != nil {
			continue
		}
		observed[name] = strconv.FormatInt(n, 10)
		if name == "memory" || name == "max_item" {
			observed[name] = parameter.Bytes(n).String()
		}
	}
	return observed, nil
}

// counters are what is taken from the statistics as it is.
var counters = []struct {
	field  string
	metric measure.Metric
}{
	{"cmd_get", measure.Metric{Name: "memcached.gets", Unit: "1/s", Doc: "get requests, by key"}},
	{"cmd_set", measure.Metric{Name: "memcached.sets", Unit: "1/s", Doc: "set requests"}},
	{"get_hits", measure.Metric{Name: "memcached.hits", Unit: "1/s", Doc: "get hits"}},
	{"get_misses", measure.Metric{Name: "memcached.misses", Unit: "1/s", Doc: "get misses"}},
	{"evictions", measure.Metric{Name: "memcached.evicted", Unit: "1/s", Doc: "items evicted"}},
	{"curr_items", measure.Metric{Name: "memcached.items", Unit: "1", Doc: "items stored"}},
	{"bytes", measure.Metric{Name: "memcached.memory", Unit: "B", Doc: "memory used by items"}},
	{"total_connections", measure.Metric{Name: "memcached.connections", Unit: "1/s", Doc: "connections accepted"}},
	{"curr_connections", measure.Metric{Name: "memcached.clients", Unit: "1", Doc: "open connections"}},
	{"bytes_read", measure.Metric{Name: "memcached.received", Unit: "B/s", Doc: "bytes read from clients"}},
	{"bytes_written", measure.Metric{Name: "memcached.sent", Unit: "B/s", Doc: "bytes written to clients"}},
}

func (c client) count(ctx context.Context) (map[string]float64, error) {
	stats, err := c.stats(ctx, "")
	if err != nil {
		return nil, err
	}
	counts := map[string]float64{}
	for _, c := range counters {
		if v, err := strconv.ParseFloat(stats[c.field], 64); err == nil {
			counts[c.metric.Name] = v
		}
	}
	user, err1 := strconv.ParseFloat(stats["rusage_user"], 64)
	system, err2 := strconv.ParseFloat(stats["rusage_system"], 64)
	if err1 == nil && err2 == nil {
		counts["memcached.cpu"] = user + system
	}
	return counts, nil
}
