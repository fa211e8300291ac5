// Package responder is plimsoll's own server for studies of the web and of key-value stores
// without installed software. It serves HTTP, the protocol of Redis and the text protocol of
// memcached from memory, in a separate process.
//
// Its service times follow a distribution on a number of servers, so measurements can be
// compared with queueing theory. It can inject faults: stalls, errors, resets, half-closed
// connections, garbage, and lost or swapped values.
package responder

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"time"

	"plimsoll/internal/load"
	"plimsoll/internal/measure"
	"plimsoll/internal/parameter"
	"plimsoll/internal/platform"
	"plimsoll/internal/service"
	"plimsoll/internal/service/webfiles"
)

// Command is the hidden command of this program that calls Serve.
const Command = "respond"

// Settings are the settings of the responder in a study.
type Settings struct {
	service.Placement
	Threads   int                `name:"threads" doc:"CPUs that the server may use at once" min:"1" max:"1024"`
	Pages     int                `name:"pages" doc:"number of web pages" min:"1" max:"10000"`
	PageSize  parameter.Bytes    `name:"page_size" doc:"size of a web page with its images; a tenth is HTML" min:"128B" max:"64MiB"`
	Images    int                `name:"images" doc:"images per web page; 0 makes the whole page HTML" min:"0" max:"100"`
	TLS       bool               `name:"tls" doc:"HTTP over TLS, with a certificate made for the run" unsafe:"false"`
	HTTP2     bool               `name:"http2" doc:"HTTP/2 as well as HTTP/1.1"`
	Law       string             `name:"law" doc:"distribution of the service time" choices:"none,fixed,exponential"`
	Service   parameter.Duration `name:"service" doc:"mean service time; requires law" max:"1m"`
	Servers   int                `name:"servers" doc:"requests in service concurrently, the others queue first in, first out; requires law" min:"1" max:"4096"`
	Stall     parameter.Duration `name:"stall" doc:"duration of a stall of the whole server; 0s disables stalls" max:"1h"`
	Period    parameter.Duration `name:"period" doc:"period of stalls, from end to end" min:"1ms" max:"24h"`
	Irregular bool               `name:"irregular" doc:"exponentially distributed intervals between stalls, with the same mean"`
	Tail      parameter.Share    `name:"tail" doc:"share of responses that are delayed at random, without blocking the server"`
	TailDelay parameter.Duration `name:"tail_delay" doc:"delay of those responses" max:"1h"`
	Sustained parameter.Rate     `name:"sustained" doc:"refill rate of a token bucket; a request takes one token, or waits for it"`
	Burst     int                `name:"burst" doc:"size of the token bucket, in requests; full at the start" min:"0" max:"1000000000"`
	Reject    parameter.Rate     `name:"reject" doc:"request rate above which the excess is answered with an error"`
	Queue     int                `name:"queue" doc:"maximum queue length, beyond which requests are answered with an error; requires law; 0 is unbounded" min:"0" max:"1000000000"`
	Slowing   float64            `name:"slowing" doc:"growth of the service time per minute, as a share" min:"0" max:"1000"`
	Cold      parameter.Duration `name:"cold" doc:"time constant of a warm-up from four times the service time; 0s disables it" max:"24h"`
	Fail      parameter.Share    `name:"fail" doc:"share of requests answered with an error"`
	Reset     parameter.Share    `name:"reset" doc:"share of requests whose connection is reset"`
	Garbage   parameter.Share    `name:"garbage" doc:"share of requests answered with garbage"`
	HalfClose parameter.Share    `name:"half_close" doc:"share of requests after which the server half-closes the connection"`
	Lose      parameter.Share    `name:"lose" doc:"share of overwrites acknowledged and not applied (lost update)"`
	Swap      parameter.Share    `name:"swap" doc:"share of reads that return another key's value"`
	Tear      parameter.Share    `name:"tear" doc:"share of torn reads: first half of the value, second half of the one before"`
	Forget    parameter.Share    `name:"forget" doc:"share of reads that remove the key first"`
}

// Kind is the service's entry in the catalog.
func Kind() service.Kind {
	defaults := Settings{Placement: service.Alone(), Threads: 1, Pages: 1, PageSize: 100 << 10, Images: 5, Law: "none", Servers: 1, Burst: 1000, Period: parameter.Duration(time.Second)}
	return service.Define(service.Kind{
		Name:   "responder",
		Doc:    "plimsoll's own HTTP and key-value server, with fault injection; requires no software",
		Speaks: []string{"http", "redis", "memcached"},
		Metrics: []measure.Metric{
			{Name: "responder.requests", Unit: "1/s", Doc: "requests received"},
			{Name: "responder.faults", Unit: "1/s", Doc: "faults injected"},
			{Name: "responder.connections", Unit: "1/s", Doc: "connections accepted"},
			{Name: "responder.cpu", Unit: "1", Doc: "CPUs used by the server"},
		},
	}, defaults, build)
}

func build(s Settings) (service.Service, error) {
	if err := s.refuse(); err != nil {
		return nil, err
	}
	return &responder{s}, nil
}

// refuse rejects settings that contradict each other.
func (s Settings) refuse() error {
	switch {
	case s.Law == "none" && (s.Service != 0 || s.Servers != 1):
		return errors.New("service and servers need a law: fixed or exponential")
	case s.Law != "none" && s.Service <= 0:
		return fmt.Errorf("law %s needs a service time: set service", s.Law)
	case s.Law == "none" && (s.Queue > 0 || s.Slowing > 0 || s.Cold > 0):
		return errors.New("queue, slowing and cold need a law: fixed or exponential")
	case s.Stall > 0 && s.Period <= s.Stall:
		return fmt.Errorf("a period of %s leaves nothing between stalls of %s", s.Period, s.Stall)
	case s.Fail+s.Reset+s.Garbage+s.HalfClose > 1:
		return errors.New("fail, reset, garbage and half_close add up to more than 100%")
	case s.pages(0).Bytes() > 4<<30:
		return fmt.Errorf("%d pages of %s do not fit into memory; 4GiB is the most", s.Pages, s.PageSize)
	}
	return nil
}

// delays reports whether responses may be delayed.
func (s Settings) delays() bool {
	return s.Law != "none" || s.Stall > 0 || s.Tail > 0 || s.Sustained > 0 || s.Reject > 0
}

func (s Settings) pages(seed uint64) webfiles.Pages {
	return webfiles.Pages{Count: s.Pages, Size: int64(s.PageSize), Images: s.Images, Seed: seed}
}

// texts are the settings as text.
func (s Settings) texts() map[string]string {
	texts := map[string]string{}
	for _, f := range parameter.Fields(s) {
		texts[f.Name] = f.Default
		if f.Kind == parameter.KindDuration && f.Default == "" {
			texts[f.Name] = "0s"
		}
	}
	return texts
}

type responder struct{ settings Settings }

// Check reports whether the machine can start this program.
func (r *responder) Check(ctx context.Context, env service.Env) (service.Needs, error) {
	if _, err := service.Self(ctx, env.Machine); err != nil {
		return service.Needs{}, err
	}
	return service.Needs{Time: time.Second}, nil
}

// order is the configuration of the process, on its standard input.
type order struct {
	Settings parameter.Settings `json:"settings"`
	Seed     uint64             `json:"seed"`
	Host     string             `json:"host"` // listen addresses
}

// greeting is the line that the process prints when it listens.
type greeting struct {
	Listening map[string]string `json:"listening"` // addresses by protocol, and that of "control"
	CA        []byte            `json:"ca,omitempty"`
}

// Start starts the process; the kernel chooses the ports.
func (r *responder) Start(ctx context.Context, env service.Env) (service.Instance, error) {
	o := order{Settings: parameter.Settings{}, Seed: env.Seed}
	maps.Copy(o.Settings, r.settings.texts())
	return service.Own{
		Name: "the responder", Command: Command,
		Options: func(place service.Location) ([]byte, error) {
			o.Host = place.Host
			return json.Marshal(o)
		},
		Ready: func(ctx context.Context, line []byte) (service.Live, error) {
			var g greeting
			if err := json.Unmarshal(line, &g); err != nil {
				return service.Live{}, fmt.Errorf("its first line is %q: %w", line, err)
			}
			return g.live(ctx, env.Machine)
		},
	}.Start(ctx, env)
}

func (g greeting) live(ctx context.Context, m platform.Machine) (service.Live, error) {
	control := controlClient{m, g.Listening["control"]}
	live := service.Live{Endpoints: map[string]load.Endpoint{}, Observe: control.settings, Count: control.counters}
	for protocol, address := range g.Listening {
		if protocol != "control" {
			live.Endpoints[protocol] = load.Endpoint{Network: "tcp", Address: address}
		}
	}
	web := live.Endpoints["http"]
	web.CA = g.CA
	live.Endpoints["http"] = web
	_, err := control.counters(ctx)
	return live, err
}
