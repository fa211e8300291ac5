package redis

import (
	"bufio"
	"context"
	"errors"
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

// refusal is an answer that is an error.
type refusal string

func (r refusal) Error() string { return string(r) }

// ask sends a command, and is the flat list of texts in the answer.
func (c client) ask(ctx context.Context, words ...string) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	conn, err := service.Dial(ctx, c.machine, c.endpoint)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	request := fmt.Sprintf("*%d\r\n", len(words))
	for _, word := range words {
		request += fmt.Sprintf("$%d\r\n%s\r\n", len(word), word)
	}
	if _, err := io.WriteString(conn, request); err != nil {
		return nil, fmt.Errorf("ask the server at %s: %w", c.endpoint.Address, err)
	}
	answer, err := parse(bufio.NewReader(conn), 0)
	var refused refusal
	switch {
	case err == nil, errors.As(err, &refused):
		return answer, err
	case ctx.Err() != nil:
		return nil, fmt.Errorf("ask the server at %s: %w", c.endpoint.Address, context.Cause(ctx))
	}
	return nil, fmt.Errorf("what listens at %s does not speak the protocol of Redis: %w", c.endpoint.Address, err)
}

const (
	longest = 1 << 20 // bytes of a text, and items of a list, that a server may answer
	deepest = 4
)

// parse reads one answer of version 2 of the protocol.
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
		return nil, refusal(rest)
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

// info is what the server says about itself.
func (c client) info(ctx context.Context) (map[string]string, error) {
	answer, err := c.ask(ctx, "INFO")
	var refused refusal
	if errors.As(err, &refused) {
		return nil, fmt.Errorf("the server at %s refuses: %w", c.endpoint.Address, err)
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

// observe reads the settings back. A server that does not tell them leaves them out.
func (c client) observe(ctx context.Context) (map[string]string, error) {
	answer, err := c.ask(ctx, "CONFIG", "GET", "*")
	var refused refusal
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
				return nil, fmt.Errorf("the server says that maxmemory is %q", value)
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

// counters are what is taken from INFO as it is.
var counters = []struct {
	field  string
	metric measure.Metric
}{
	{"total_commands_processed", measure.Metric{Name: "redis.commands", Unit: "1/s", Doc: "commands processed"}},
	{"total_connections_received", measure.Metric{Name: "redis.connections", Unit: "1/s", Doc: "connections accepted"}},
	{"connected_clients", measure.Metric{Name: "redis.clients", Unit: "1", Doc: "connected clients"}},
	{"keyspace_hits", measure.Metric{Name: "redis.hits", Unit: "1/s", Doc: "keyspace hits"}},
	{"keyspace_misses", measure.Metric{Name: "redis.misses", Unit: "1/s", Doc: "keyspace misses"}},
	{"evicted_keys", measure.Metric{Name: "redis.evicted", Unit: "1/s", Doc: "keys evicted"}},
	{"used_memory", measure.Metric{Name: "redis.memory", Unit: "B", Doc: "memory used for data"}},
	{"used_memory_rss", measure.Metric{Name: "redis.resident", Unit: "B", Doc: "resident set size"}},
	{"total_net_input_bytes", measure.Metric{Name: "redis.received", Unit: "B/s", Doc: "bytes read from clients"}},
	{"total_net_output_bytes", measure.Metric{Name: "redis.sent", Unit: "B/s", Doc: "bytes written to clients"}},
}

func (c client) count(ctx context.Context) (map[string]float64, error) {
	info, err := c.info(ctx)
	if err != nil {
		return nil, err
	}
	counts := map[string]float64{}
	for _, c := range counters {
		if v, err := strconv.ParseFloat(info[c.field], 64); err == nil {
			counts[c.metric.Name] = v
		}
	}
	user, err1 := strconv.ParseFloat(info["used_cpu_user"], 64)
	system, err2 := strconv.ParseFloat(info["used_cpu_sys"], 64)
	if err1 == nil && err2 == nil {
		counts["redis.cpu"] = user + system
	}
	return counts, nil
}
