package redis

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
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
	return client{keyvalue.Client{Machine: m, Endpoint: at, Protocol: "Redis"}}
}

// ask sends a command and returns the flat list of texts in the response.
func (c client) ask(ctx context.Context, words ...string) ([]string, error) {
	request := fmt.Sprintf("*%d\r\n", len(words))
	for _, word := range words {
		request += fmt.Sprintf("$%d\r\n%s\r\n", len(word), word)
	}
	return keyvalue.Ask(ctx, c.Client, request, func(r *bufio.Reader) ([]string, error) { return parse(r, 0) })
}

const (
	longest = 1 << 20 // bytes of a text, and items of a list, that a server may answer
	deepest = 4
)

// parse parses one RESP2 response.
func parse(from *bufio.Reader, depth int) ([]string, error) {
	line, err := from.ReadSlice('\n')
	if err != nil {
		return nil, err
	}
	head := strings.TrimRight(string(line), "\r\n")
	if head == "" {
		return nil, errors.New("an empty line")
	}
	mark, rest := head[0], head[1:]
	switch mark {
	case '+', ':':
		return []string{rest}, nil
	case '-':
		return nil, keyvalue.Refusal(rest)
	case '$', '*':
	default:
		return nil, fmt.Errorf("it answers %q", head)
	}
	n, err := strconv.Atoi(rest)
	if err != nil || n > longest || depth > deepest {
		return nil, fmt.Errorf("it answers %q", head)
	}
	if n < 0 {
		return nil, nil
	}
	if mark == '$' {
		data := make([]byte, n+2)
		if _, err := io.ReadFull(from, data); err != nil {
			return nil, err
		}
		return []string{string(data[:n])}, nil
	}
	var all []string
	for range n {
		some, err := parse(from, depth+1)
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	return all, nil
}

// info reads the server's INFO.
func (c client) info(ctx context.Context) (map[string]string, error) {
	answer, err := c.ask(ctx, "INFO")
	var refused keyvalue.Refusal
	if errors.As(err, &refused) {
		return nil, fmt.Errorf("the server at %s refused the request: %w", c.Endpoint.Address, err)
	}
	if err != nil {
		return nil, err
	}
	info := map[string]string{}
	for line := range strings.Lines(strings.Join(answer, "\n")) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			info[name] = value
		}
	}
	return info, nil
}

// observe reads the settings back, as far as the server reports them.
func (c client) observe(ctx context.Context) (map[string]string, error) {
	answer, err := c.ask(ctx, "CONFIG", "GET", "*")
	var refused keyvalue.Refusal
	if err != nil && !errors.As(err, &refused) {
		return nil, err
	}
	observed := map[string]string{}
	for i := 0; i+1 < len(answer); i += 2 {
		name, value := strings.ReplaceAll(answer[i], "-", "_"), answer[i+1]
		switch name {
		case "maxmemory":
			n, err := strconv.ParseInt(value, 10, 64)
			if err != nil {
				return nil, fmt.Errorf("unexpected maxmemory from the server: %q", value)
			}
			observed[name] = parameter.Bytes(n).String()
		case "appendonly":
			observed[name] = strconv.FormatBool(value == "yes")
		case "maxmemory_policy", "io_threads", "appendfsync", "save", "hz":
			observed[name] = value
		}
	}
	return observed, nil
}

var statistics = keyvalue.Statistics{Program: "redis", User: "used_cpu_user", System: "used_cpu_sys", Counters: []keyvalue.Counter{
	{Field: "total_commands_processed", Metric: measure.Metric{Name: "commands", Unit: "1/s", Doc: "commands processed"}},
	{Field: "total_connections_received", Metric: measure.Metric{Name: "connections", Unit: "1/s", Doc: "connections accepted"}},
	{Field: "connected_clients", Metric: measure.Metric{Name: "clients", Unit: "1", Doc: "connected clients"}},
	{Field: "keyspace_hits", Metric: measure.Metric{Name: "hits", Unit: "1/s", Doc: "keyspace hits"}},
	{Field: "keyspace_misses", Metric: measure.Metric{Name: "misses", Unit: "1/s", Doc: "keyspace misses"}},
	{Field: "evicted_keys", Metric: measure.Metric{Name: "evicted", Unit: "1/s", Doc: "keys evicted"}},
	{Field: "used_memory", Metric: measure.Metric{Name: "memory", Unit: "B", Doc: "memory used for data"}},
	{Field: "used_memory_rss", Metric: measure.Metric{Name: "resident", Unit: "B", Doc: "resident set size"}},
	{Field: "total_net_input_bytes", Metric: measure.Metric{Name: "received", Unit: "B/s", Doc: "bytes read from clients"}},
	{Field: "total_net_output_bytes", Metric: measure.Metric{Name: "sent", Unit: "B/s", Doc: "bytes written to clients"}},
}}

func (c client) count(ctx context.Context) (map[string]float64, error) {
	info, err := c.info(ctx)
	if err != nil {
		return nil, err
	}
	return statistics.Count(info), nil
}
