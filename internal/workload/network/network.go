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
	Test     string          `name:"test" doc:"test, as in netperf; rr: request/response, crr: connect/request/response, stream: one way, to the reflector" choices:"tcp_rr,udp_rr,tcp_crr,tcp_stream,udp_stream"`
	Request  parameter.Bytes `name:"request" doc:"request size" min:"1B" max:"64MiB"`
	Response parameter.Bytes `name:"response" doc:"response size" min:"1B" max:"64MiB"`
	Burst    int             `name:"burst" doc:"additional requests outstanding per connection, as netperf's burst mode" min:"0" max:"65535"`
	Flows    int             `name:"flows" doc:"connections, or UDP senders" min:"1" max:"65536"`
	Message  parameter.Bytes `name:"message" doc:"bytes per send call of a stream; 0B is 128KiB over TCP and 1KiB over UDP" min:"0B" max:"64MiB"`
	Sending  string          `name:"sending" doc:"system calls of a UDP stream; single: one per message, batch: sendmmsg, segmented: UDP GSO; auto: segmented if supported, else batch" choices:"auto,single,batch,segmented"`
	Buffer   parameter.Bytes `name:"socket_buffer" doc:"send and receive buffer of each local socket; 0B is the system default" max:"1GiB"`
	Remote   parameter.Bytes `name:"remote_buffer" doc:"send and receive buffer of each socket of the reflector; 0B is the system default" max:"1GiB"`
	NoDelay  bool            `name:"nodelay" doc:"TCP_NODELAY at both ends"`

	workload.Pace `rate:"offered load in requests per second, or messages of a UDP stream, in total; empty is a closed loop" timeout:"response timeout; a datagram lost on the way counts as an error then"`
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
		Test: tcpRR, Request: 1, Response: 1, Flows: 1, Sending: sendBatch, NoDelay: true,
		Pace: workload.UsualPace(time.Second),
	}
}

// Kind is the workload as the catalog lists it.
func Kind() workload.Kind {
	return workload.Define(workload.Kind{
		Candidates: candidates(),
		Name:       "network",
		Doc:        "netperf's tests against a reflector: request/response, connect/request/response and streams, over TCP and UDP",
		Rate:       "transactions",
		Metrics:    metrics(),
		Speaks:     []string{peer.Protocol},
		Own:        true,
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
	if n.offer, err = p.Offered(); err != nil {
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

type network struct {
	Parameters
	offer workload.Offer
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
	d := n.offer.Demand(n.Flows*(n.Burst+1), load.Class{Share: 1, Bytes: int64(n.Request + n.Response)})
	if n.stream() {
		d.Classes[0].Bytes = int64(n.Message)
	}
	return d
}

// Check speaks to the reflector, where one runs already; one that is to be started
// is for its service to check.
func (n *network) Check(ctx context.Context, env workload.Env) (workload.Needs, error) {
	if err := n.offer.Trace.Check(); err != nil {
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
		return nil, errors.New("the workload network requires a reflector: add the service reflector to the study")
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
		{Name: "derived_latency", Unit: "s", Doc: "requests outstanding divided by their rate, which netperf prints as latency; not measured", Better: measure.LowerIsBetter},
		{Name: "sent", Unit: "1/s", Doc: "messages sent per second"},
		{Name: "send_failures", Unit: "1/s", Doc: "failed send calls per second", Better: measure.LowerIsBetter},
		{Name: "received", Unit: "1/s", Doc: "messages received per second, by the receiver's clock", Better: measure.HigherIsBetter},
		{Name: "loss", Unit: "1", Doc: "share of datagrams lost; for udp_rr, share of requests without a response in time", Better: measure.LowerIsBetter},
		{Name: "overflow", Unit: "1", Doc: "share of datagrams dropped by a full receive buffer", Better: measure.LowerIsBetter},
		{Name: "duplicates", Unit: "1", Doc: "share of datagrams received more than once", Better: measure.LowerIsBetter},
		{Name: "reordered", Unit: "1", Doc: "share of datagrams received out of order", Better: measure.LowerIsBetter},
		{Name: "client.cpu", Unit: "1", Doc: "CPUs used by the load generator"},
		{Name: "client.cpu_per_operation", Unit: "s", Doc: "CPU time of the load generator per operation", Better: measure.LowerIsBetter},
		{Name: "client.gap", Unit: "s", Doc: "longest delay of a load-generator thread", Better: measure.LowerIsBetter},
		{Name: measure.GeneratorWaited, Unit: "1", Doc: "share of time in which load-generator threads were runnable and waited for a CPU", Better: measure.LowerIsBetter},
		{Name: "generator.cpu", Unit: "1", Doc: "CPU utilisation of the load-generator threads, without busy-waiting", Better: measure.LowerIsBetter},
		{Name: "server.cpu", Unit: "1", Doc: "CPUs used by the reflector"},
		{Name: "server.cpu_per_operation", Unit: "s", Doc: "CPU time of the reflector per operation received", Better: measure.LowerIsBetter},
		{Name: "server.busy", Unit: "1", Doc: "CPUs in use on the reflector's machine, by any process"},
		{Name: "server.interrupts", Unit: "1/s", Doc: "interrupts per second on the reflector's machine"},
		{Name: "server.softirqs", Unit: "1/s", Doc: "soft interrupts per second on the reflector's machine"},
	}
}

func metrics() []measure.Metric {
	return slices.Concat(measure.OperationMetrics("transactions"), measure.ScheduleMetrics(), own())
}
