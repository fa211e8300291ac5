// Package web is a workload of requests to a web server, over HTTP/1.1 or HTTP/2.
// Here is what is asked for, and what an answer is: for HTTP/1.1 a dialogue of our
// own, whose bytes the loops of plimsoll move; for HTTP/2 a caller by way of net/http.
package web

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"plimsoll/internal/load"
	"plimsoll/internal/measure"
	"plimsoll/internal/workload"
)

// Parameters are what a study may set.
type Parameters struct {
	Version     string   `name:"version" doc:"HTTP version" choices:"1.1,2"`
	TLS         string   `name:"tls" doc:"TLS: as the service is configured, always, or never" choices:"auto,on,off"`
	Unit        string   `name:"unit" doc:"operation: one object, or a page with all its images" choices:"object,page"`
	Pages       []string `name:"pages" doc:"pages to request, each a path followed by the paths of its images; empty is every page the service announces"`
	Method      string   `name:"method" doc:"request method" choices:"GET,HEAD"`
	Headers     []string `name:"headers" doc:"request headers, NAME: VALUE; env:NAME in a value, as in Authorization: Bearer env:TOKEN, is an environment variable of the load generator"`
	Expect      []string `name:"expect" doc:"status codes that count as success, such as 2xx or 404"`
	Connections int      `name:"connections" doc:"number of connections, per server" min:"1" max:"65536"`
	Pipeline    int      `name:"pipeline" doc:"pipeline depth: operations outstanding per connection" min:"1" max:"4096"`
	KeepAlive   bool     `name:"keepalive" doc:"persistent connections; off, each operation opens its own"`
	Reuse       int      `name:"reuse" doc:"requests per connection before it is reopened, at the end of an operation; 0 and a pipeline leave that to the server" min:"0" max:"1000000000"`

	workload.Pace
}

const (
	protocol = "http"
	// mostStreams is how many requests servers allow at once on a connection at
	// least (RFC 9113, 6.5.2).
	mostStreams = 100
)

func defaults() Parameters {
	return Parameters{
		Version: "1.1", TLS: "auto", Unit: "object", Method: "GET", Expect: []string{"2xx", "3xx"}, Connections: 32, Pipeline: 1, KeepAlive: true, Reuse: 1000,
		Pace: workload.UsualPace(5 * time.Second),
	}
}

// Kind is the workload as the catalog lists it.
func Kind() workload.Kind {
	return workload.Define(workload.Kind{
		Name:    "web",
		Doc:     "HTTP/1.1 or HTTP/2 requests for objects, or for pages with all their images",
		Rate:    "requests",
		Metrics: slices.Concat(measure.OperationMetrics("requests"), measure.ScheduleMetrics(), own()),
		Speaks:  []string{protocol},
		Own:     true,
		Spreads: true,
	}, defaults(), build)
}

// own are the metrics that operations and schedules in general do not have.
func own() []measure.Metric {
	return []measure.Metric{
		{Name: "client.cpu", Unit: "1", Doc: "CPUs used by the load generator"},
		{Name: "client.cpu_per_operation", Unit: "s", Doc: "CPU time of the load generator per operation", Better: measure.LowerIsBetter},
		{Name: "client.gap", Unit: "s", Doc: "longest delay of a load-generator thread", Better: measure.LowerIsBetter},
		{Name: "generator.cpu", Unit: "1", Doc: "CPU utilisation of the load-generator threads", Better: measure.LowerIsBetter},
		{Name: measure.GeneratorWaited, Unit: "1", Doc: "share of time in which load-generator threads were runnable and waited for a CPU", Better: measure.LowerIsBetter},
		{Name: "status.2xx", Unit: "1", Doc: "share of responses with a 2xx status", Better: measure.HigherIsBetter},
		{Name: "status.3xx", Unit: "1", Doc: "share of responses with a 3xx status"},
		{Name: "status.4xx", Unit: "1", Doc: "share of responses with a 4xx status", Better: measure.LowerIsBetter},
		{Name: "status.5xx", Unit: "1", Doc: "share of responses with a 5xx status", Better: measure.LowerIsBetter},
	}
}

func build(p Parameters) (workload.Load, error) {
	w := &web{Parameters: p}
	for _, c := range []struct {
		wrong bool
		why   string
	}{
		{!p.KeepAlive && p.Pipeline > 1, "without keepalive a connection has one operation: pipeline must be 1"},
		{p.Version == "2" && p.Pipeline > mostStreams, fmt.Sprintf("over HTTP/2 servers take %d requests at once on a connection: pipeline must not be more", mostStreams)},
		{p.Threads > p.Connections, fmt.Sprintf("%d threads for %d connections: each thread needs one of its own", p.Threads, p.Connections)},
	} {
		if c.wrong {
			return nil, errors.New(c.why)
		}
	}
	var err error
	if w.pages, err = parsePages(p.Pages); err != nil {
		return nil, fmt.Errorf("pages: %w", err)
	}
	if w.given, err = parseHeader(p.Headers); err != nil {
		return nil, fmt.Errorf("headers: %w", err)
	}
	w.extra = w.given
	if w.expected, err = parseStatuses(p.Expect); err != nil {
		return nil, fmt.Errorf("expect: %w", err)
	}
	w.offer, err = p.Offered()
	return w, err
}

type web struct {
	Parameters
	pages    []page        // that the study names
	given    []headerField // by the study
	extra    []headerField // the same with secrets in place of references
	expected statuses
	offer    workload.Offer
}

// Demand is what the load asks of the server.
func (w *web) Demand() load.Demand {
	return w.offer.Demand(w.Connections*w.Pipeline, load.Class{Share: 1})
}

// Check has nothing but its trace to look at before the server runs.
func (w *web) Check(ctx context.Context, env workload.Env) (workload.Needs, error) {
	if err := w.offer.Trace.Check(); err != nil {
		return workload.Needs{}, err
	}
	if env.Target == nil {
		return workload.Needs{}, nil // it will be started
	}
	return workload.Needs{}, w.Prepare(ctx, env)
}

// Prepare asks the server what it serves, and for the first of it.
func (w *web) Prepare(ctx context.Context, env workload.Env) error {
	s, err := w.find(env)
	if err != nil {
		return err
	}
	pages, err := w.askPages(ctx, s)
	if err != nil {
		return err
	}
	return w.try(ctx, s, pages)
}

// Clean has nothing to remove.
func (w *web) Clean(context.Context, workload.Env) error { return nil }

// Run asks until stage.Length or until the recorder has enough.
func (w *web) Run(ctx context.Context, env workload.Env, stage load.Stage, out *measure.Recorder) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	s, err := w.find(env)
	if err != nil {
		return err
	}
	pages, err := w.askPages(ctx, s)
	if err != nil {
		return err
	}
	l := newLedger(w.Threads)
	if err := w.drive(ctx, drive{server: s, tour: w.newTour(pages, s.host()), stage: stage, ledger: l}, out); err != nil {
		return err
	}
	w.conclude(l, out)
	return nil
}
