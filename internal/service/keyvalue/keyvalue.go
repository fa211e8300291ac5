// Package keyvalue is common to the services of key-value stores: a client that sends one
// request at a time, and counters that are fields of the server's statistics.
package keyvalue

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"plimsoll/internal/load"
	"plimsoll/internal/measure"
	"plimsoll/internal/platform"
	"plimsoll/internal/service"
)

const (
	answering = 10 * time.Second
	longest   = 4 << 20 // bytes of a response
)

// Client sends requests to a server, each on a connection of its own.
type Client struct {
	Machine  platform.Machine // the machine that connects
	Endpoint load.Endpoint
	Protocol string // name of the server, such as Redis
}

// Refusal is an error response of the server.
type Refusal string

// Error is the text of the response.
func (r Refusal) Error() string { return string(r) }

// Ask sends a request and parses the response. A Refusal is returned unchanged; all other
// errors are one line with a remedy.
func Ask[T any](ctx context.Context, c Client, request string, parse func(*bufio.Reader) (T, error)) (answer T, err error) {
	ctx, cancel := context.WithTimeout(ctx, answering)
	defer cancel()
	conn, err := service.Dial(ctx, c.Machine, c.Endpoint)
	if err != nil {
		return answer, err
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	if _, err := io.WriteString(conn, request); err != nil {
		return answer, fmt.Errorf("query the server at %s: %w", c.Endpoint.Address, err)
	}
	answer, err = parse(bufio.NewReader(io.LimitReader(conn, longest)))
	var refused Refusal
	switch {
	case err == nil, errors.As(err, &refused):
		return answer, err
	case ctx.Err() != nil:
		return answer, fmt.Errorf("query the server at %s: %w", c.Endpoint.Address, context.Cause(ctx))
	}
	return answer, fmt.Errorf("the server at %s does not speak the protocol of %s: %w", c.Endpoint.Address, c.Protocol, err)
}

// Statistics are the counters of a server, by their field names.
type Statistics struct {
	Program      string // prefix of its metrics
	User, System string // fields of its CPU time
	Counters     []Counter
}

// Counter is a metric with the value of a field.
type Counter struct {
	Field  string
	Metric measure.Metric // name without the prefix
}

// Metrics lists the metrics of all counters and of the CPU time.
func (s Statistics) Metrics() []measure.Metric {
	all := []measure.Metric{{Name: s.Program + ".cpu", Unit: "1", Doc: "CPUs used by the server"}}
	for _, c := range s.Counters {
		c.Metric.Name = s.Program + "." + c.Metric.Name
		all = append(all, c.Metric)
	}
	return all
}

// Count reads the counters. Counters that the server does not report are absent.
func (s Statistics) Count(told map[string]string) map[string]float64 {
	counts := map[string]float64{}
	for _, c := range s.Counters {
		if v, err := strconv.ParseFloat(told[c.Field], 64); err == nil {
			counts[s.Program+"."+c.Metric.Name] = v
		}
	}
	user, err1 := strconv.ParseFloat(told[s.User], 64)
	system, err2 := strconv.ParseFloat(told[s.System], 64)
	if err1 == nil && err2 == nil {
		counts[s.Program+".cpu"] = user + system
	}
	return counts
}
