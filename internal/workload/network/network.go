// Package network is a workload of requests and responses, or of a stream, between
// this machine and a reflector: what netperf measures, under options of the same
// meaning. Requests run over the load core of plimsoll; streams have loops of their
// own here, and what counts of them is what the receiver saw.
package network

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"plimsoll/internal/load"
	"plimsoll/internal/load/peer"
	"plimsoll/internal/measure"
	"plimsoll/internal/parameter"
	"plimsoll/internal/workload"
)

// Parameters are what a study may set.
type Parameters struct {
	Test     string             `name:"test" doc:"what goes over the network; rr: requests and responses, crr: each over a connection of its own, stream: one way, to the reflector" choices:"tcp_rr,udp_rr,tcp_crr,tcp_stream,udp_stream"`
	Request  parameter.Bytes    `name:"request" doc:"size of a request" min:"1B" max:"64MiB"`
	Response parameter.Bytes    `name:"response" doc:"size of a response" min:"1B" max:"64MiB"`
	Burst    int                `name:"burst" doc:"requests outstanding on each connection beyond the first" min:"0" max:"65535"`
	Flows    int                `name:"flows" doc:"connections, or senders of datagrams" min:"1" max:"65536"`
	Message  parameter.Bytes    `name:"message" doc:"bytes given to the system at once by a stream; 0B takes 128KiB over TCP and 1KiB over UDP" min:"0B" max:"64MiB"`
	Sending  string             `name:"sending" doc:"how a UDP stream gives its messages to the system; single: each by itself, batch: many at once, segmented: many as one that the system or the device cuts; auto: segmented where that works, else batch" choices:"auto,single,batch,segmented"`
	Buffer   parameter.Bytes    `name:"socket_buffer" doc:"send and receive buffer of each socket here; 0B leaves them to the system" max:"1GiB"`
	Remote   parameter.Bytes    `name:"remote_buffer" doc:"send and receive buffer of each socket of the reflector; 0B leaves them to the system" max:"1GiB"`
	NoDelay  bool               `name:"nodelay" doc:"TCP sends small messages at once, at both ends"`
	Threads  int                `name:"threads" doc:"threads that make the load, each with its own connections" min:"1" max:"1024"`
	Rate     parameter.Rate     `name:"rate" doc:"requests, or messages of a UDP stream, offered per second in all; without it they go on as fast as they can"`
	Arrivals string             `name:"arrivals" doc:"how they become due at a rate: evenly, or at random" choices:"constant,poisson"`
	Shape    string             `name:"shape" doc:"how the rate changes over the load, in multiples of it: ramp to 5 over 60s, steps 1 for 10s, 2 for 10s, or sine 20% every 10s"`
	Trace    string             `name:"trace" doc:"file with the instants at which requests are due, instead of a rate: seconds since the load began, one a line, rising"`
	Think    parameter.Duration `name:"think" doc:"pause between a response and the next request in its place"`
	Timeout  parameter.Duration `name:"timeout" doc:"how long a response may take; over UDP, a lost one counts as an error after that time" min:"1ms"`
	Tick     parameter.Duration `name:"tick" doc:"how long a thread may sleep beyond the instant at which something is due, to send more at once for less CPU time; 0s spins just before the instant" max:"1s"`
	MaxLag   parameter.Duration `name:"max_lag" doc:"what would start later than this after it was due is abandoned; 0s abandons nothing"`
}

// The tests.
const (
	tcpRR     = "tcp_rr"
	udpRR     = "udp_rr"
	tcpCRR    = "tcp_crr"
	tcpStream = "tcp_stream"
	udpStream = "udp_stream"
)

// Ways to give datagrams to the system.
const (
	sendAuto      = "auto"
	sendSingle    = "single"
	sendBatch     = "batch"
	sendSegmented = "segmented"
)

func defaults() Parameters {
	return Parameters{
		Test: tcpRR, Request: 1, Response: 1, Flows: 1, Sending: sendBatch, NoDelay: true, Threads: 1, Arrivals: "constant",
		Timeout: parameter.Duration(time.Second),
	}
}

// Kind is the workload as the catalog lists it.
func Kind() workload.Kind {
	return workload.Define(workload.Kind{
		Name:    "network",
		Doc:     "requests and responses, or a stream, over TCP or UDP to a reflector; what netperf measures",
		Rate:    "transactions",
		Metrics: metrics(),
		Speaks:  []string{peer.Protocol},
		Own:     true,
	}, defaults(), build)
}

func build(p Parameters) (workload.Load, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	n := &network{Parameters: p}
	if n.stream() && n.Message == 0 {
		if n.Message = 1 << 10; n.Test == tcpStream {
			n.Message = 128 << 10
		}
	}
	var err error
	if n.arrivals, n.trace, err = p.offered(); err != nil {
		return nil, err
	}
	if err := n.asked().Check(); err != nil {
		return nil, fmt.Errorf("test %s: %w", n.Test, err)
	}
	return n, nil
}

// check refuses settings that say nothing together.
func (p Parameters) check() error {
	usual := defaults()
	stream := p.Test == tcpStream || p.Test == udpStream
	for _, c := range []struct {
		wrong bool
		why   string
	}{
		{stream && (p.Request != usual.Request || p.Response != usual.Response), "request and response are for tests of requests: a stream has a message"},
		{stream && p.Burst > 0, "burst is for tests of requests: a stream waits for nothing"},
		{stream && p.Think > 0, "think is for tests of requests: a stream waits for nothing"},
		{stream && p.Trace != "", "trace is for tests of requests: a stream has a rate"},
		{!stream && p.Message > 0, "message is for streams: a test of requests has request and response"},
		{p.Test != udpStream && p.Sending != usual.Sending, "sending is for udp_stream"},
		{p.Test == tcpCRR && p.Burst > 0, "burst and tcp_crr exclude each other: each connection carries one request"},
		{p.Test == tcpStream && p.Rate > 0, "rate and tcp_stream exclude each other: TCP itself finds the rate; udp_stream keeps one"},
		{p.Rate > 0 && p.Think > 0, "rate and think exclude each other: what is offered at a rate does not wait for answers"},
		{p.Rate == 0 && p.Trace == "" && p.Shape != "", "shape: give the rate that changes"},
		{p.Threads > p.Flows, fmt.Sprintf("%d threads for %d flows: each thread needs one of its own", p.Threads, p.Flows)},
		{p.Test == udpRR && p.Burst >= numbers(int(min(p.Request, p.Response))), fmt.Sprintf(
			"burst %d over UDP: with requests and responses of %d bytes, at most %d can be told apart", p.Burst, min(p.Request, p.Response), numbers(int(min(p.Request, p.Response)))-1)},
	} {
		if c.wrong {
			return errors.New(c.why)
		}
	}
	return nil
}

// offered is how the settings offer what is due, at a rate or by a trace.
func (p Parameters) offered() (load.Arrivals, *load.TraceFile, error) {
	a := load.Arrivals{Rate: float64(p.Rate), Poisson: (p.Rate > 0 || p.Trace != "") && p.Arrivals == "poisson"}
	if p.Shape != "" {
		shape, err := load.ParseShape(p.Shape)
		if err != nil {
			return a, nil, fmt.Errorf("shape: %w", err)
		}
		a.Shape = shape
	}
	trace, err := load.NameTrace(p.Trace, a, time.Duration(p.Think))
	if err != nil {
		return a, nil, err
	}
	return a, trace, a.Validate()
}

type network struct {
	Parameters
	arrivals load.Arrivals   // without the instants of the trace
	trace    *load.TraceFile // nil without one
}

func (n *network) stream() bool { return n.Test == tcpStream || n.Test == udpStream }

func (n *network) protocol() string { return n.Test[:3] }

// asked is what the reflector is asked for.
func (n *network) asked() peer.Test {
	t := peer.Test{
		Mode: peer.Echo, Network: n.protocol(), Flows: n.Flows, Request: int(n.Request), Response: int(n.Response), Fresh: n.Test == tcpCRR,
		SendBuffer: int(n.Remote), ReceiveBuffer: int(n.Remote), NoDelay: n.NoDelay && n.protocol() == "tcp",
	}
	if n.stream() {
		t.Mode, t.Request, t.Response, t.Message = peer.Sink, 0, 0, int(n.Message)
	}
	return t
}

// Demand is what the load asks of the network.
func (n *network) Demand() load.Demand {
	d := load.Demand{
		Concurrency: n.Flows * (n.Burst + 1), Rate: float64(n.Rate) + n.trace.Rate(), Think: time.Duration(n.Think),
		Classes: []load.Class{{Share: 1, Bytes: int64(n.Request + n.Response)}},
	}
	if n.stream() {
		d.Classes[0].Bytes = int64(n.Message)
	}
	return d
}

// Check speaks to the reflector, where one runs already; one that is to be started
// is for its service to check.
func (n *network) Check(ctx context.Context, env workload.Env) (workload.Needs, error) {
	if err := n.trace.Check(); err != nil {
		return workload.Needs{}, err
	}
	if env.Target == nil {
		return workload.Needs{}, nil
	}
	if _, err := env.Target(peer.Protocol); err != nil {
		return workload.Needs{}, nil
	}
	session, err := dial(ctx, env)
	if err != nil {
		return workload.Needs{}, err
	}
	return workload.Needs{}, session.Close()
}

// Prepare has nothing to do.
func (n *network) Prepare(context.Context, workload.Env) error { return nil }

// Clean has nothing to do.
func (n *network) Clean(context.Context, workload.Env) error { return nil }

// patience is how long a connection to the reflector may take to come about.
const patience = 10 * time.Second

func dial(ctx context.Context, env workload.Env) (*peer.Session, error) {
	if env.Target == nil {
		return nil, errors.New("the workload network needs a reflector: name the service reflector in the study")
	}
	at, err := env.Target(peer.Protocol)
	if err != nil {
		return nil, fmt.Errorf("find the reflector: %w", err)
	}
	until, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	conn, err := env.Dial(until, at)
	if err != nil {
		return nil, fmt.Errorf("connect to the reflector: %w", err)
	}
	return peer.Greet(ctx, conn)
}

// own are the metrics that operations and schedules in general do not have.
func own() []measure.Metric {
	return []measure.Metric{
		{Name: "derived_latency", Unit: "s", Doc: "requests outstanding divided by their rate, which netperf prints as latency; nothing is timed for it", Better: measure.LowerIsBetter},
		{Name: "sent", Unit: "1/s", Doc: "messages that the system took from the sender per second"},
		{Name: "send_failures", Unit: "1/s", Doc: "messages that the system refused to take per second", Better: measure.LowerIsBetter},
		{Name: "received", Unit: "1/s", Doc: "messages that reached the receiver per second of its own clock", Better: measure.HigherIsBetter},
		{Name: "loss", Unit: "1", Doc: "share of what was sent that did not arrive; of requests over UDP, that were not answered in time", Better: measure.LowerIsBetter},
		{Name: "overflow", Unit: "1", Doc: "share of the datagrams sent that the receiver's system dropped because its buffer was full", Better: measure.LowerIsBetter},
		{Name: "duplicates", Unit: "1", Doc: "datagrams that arrived more than once, as a share of those sent", Better: measure.LowerIsBetter},
		{Name: "reordered", Unit: "1", Doc: "datagrams that arrived after a later one, as a share of those sent", Better: measure.LowerIsBetter},
		{Name: "client.cpu", Unit: "1", Doc: "CPUs that the load generator kept busy"},
		{Name: "client.cpu_per_operation", Unit: "s", Doc: "CPU time of the load generator for each operation", Better: measure.LowerIsBetter},
		{Name: "client.gap", Unit: "s", Doc: "longest time by which a thread of the load generator came late to look at the clock", Better: measure.LowerIsBetter},
		{Name: measure.GeneratorWaited, Unit: "1", Doc: "share of the time that the threads of the load generator were ready to run and had no CPU", Better: measure.LowerIsBetter},
		{Name: "generator.cpu", Unit: "1", Doc: "CPUs that the load generator needed, without waiting for what was due, as a share of its threads", Better: measure.LowerIsBetter},
		{Name: "server.cpu", Unit: "1", Doc: "CPUs that the reflector kept busy"},
		{Name: "server.cpu_per_operation", Unit: "s", Doc: "CPU time of the reflector for each operation that reached it", Better: measure.LowerIsBetter},
		{Name: "server.busy", Unit: "1", Doc: "CPUs of the reflector's machine that were busy, for whatever reason"},
		{Name: "server.interrupts", Unit: "1/s", Doc: "interrupts of the reflector's machine per second"},
		{Name: "server.softirqs", Unit: "1/s", Doc: "soft interrupts of the reflector's machine per second"},
	}
}

func metrics() []measure.Metric {
	return slices.Concat(measure.OperationMetrics("transactions"), measure.ScheduleMetrics(), own())
}
