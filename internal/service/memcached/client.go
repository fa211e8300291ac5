package memcached

import (
	"bufio"
	"context"
	"fmt"
	"strconv"
	"strings"

	"plimsoll/internal/load"
	"plimsoll/internal/measure"
	"plimsoll/internal/parameter"
	"plimsoll/internal/platform"
	"plimsoll/internal/service/keyvalue"
)

// client sends one request at a time.
type client struct{ keyvalue.Client }

func newClient(m platform.Machine, at load.Endpoint) client {
	return client{keyvalue.Client{Machine: m, Endpoint: at, Protocol: "memcached"}}
}

// stats requests the general statistics, or those of a topic.
func (c client) stats(ctx context.Context, topic string) (map[string]string, error) {
	return keyvalue.Ask(ctx, c.Client, strings.TrimSpace("stats "+topic)+"\r\n", parse)
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

var statistics = keyvalue.Statistics{Program: "memcached", User: "rusage_user", System: "rusage_system", Counters: []keyvalue.Counter{
	{Field: "cmd_get", Metric: measure.Metric{Name: "gets", Unit: "1/s", Doc: "get requests, by key"}},
	{Field: "cmd_set", Metric: measure.Metric{Name: "sets", Unit: "1/s", Doc: "set requests"}},
	{Field: "get_hits", Metric: measure.Metric{Name: "hits", Unit: "1/s", Doc: "get hits"}},
	{Field: "get_misses", Metric: measure.Metric{Name: "misses", Unit: "1/s", Doc: "get misses"}},
	{Field: "evictions", Metric: measure.Metric{Name: "evicted", Unit: "1/s", Doc: "items evicted"}},
	{Field: "curr_items", Metric: measure.Metric{Name: "items", Unit: "1", Doc: "items stored"}},
	{Field: "bytes", Metric: measure.Metric{Name: "memory", Unit: "B", Doc: "memory used by items"}},
	{Field: "total_connections", Metric: measure.Metric{Name: "connections", Unit: "1/s", Doc: "connections accepted"}},
	{Field: "curr_connections", Metric: measure.Metric{Name: "clients", Unit: "1", Doc: "open connections"}},
	{Field: "bytes_read", Metric: measure.Metric{Name: "received", Unit: "B/s", Doc: "bytes read from clients"}},
	{Field: "bytes_written", Metric: measure.Metric{Name: "sent", Unit: "B/s", Doc: "bytes written to clients"}},
}}

func (c client) count(ctx context.Context) (map[string]float64, error) {
	stats, err := c.stats(ctx, "")
	if err != nil {
		return nil, err
	}
	return statistics.Count(stats), nil
}
