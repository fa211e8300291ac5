package network

import (
	"encoding/binary"
	"syscall"
)

// Queue is the root queue of a network device, for packets to send.
type Queue struct {
	Device string  `json:"device"`
	Kind   string  `json:"kind"`           // queueing discipline, such as fq_codel
	Rate   float64 `json:"rate,omitempty"` // that a token bucket is set to, in bytes per second

	Drops float64 `json:"drops"` // counter

	Packets float64 `json:"packets"` // gauges: waiting
	Bytes   float64 `json:"bytes"`
}

// Counters are the cumulative counters, in a fixed order.
func (q *Queue) Counters() []*float64 { return []*float64{&q.Drops} }

const (
	route        = syscall.NETLINK_ROUTE
	getLink      = syscall.RTM_GETLINK
	getQueue     = 38 // RTM_GETQDISC
	newQueue     = 36 // RTM_NEWQDISC
	linkName     = 3  // IFLA_IFNAME
	queueKind    = 1  // TCA_KIND
	queueOptions = 2  // TCA_OPTIONS
	queueStats   = 7  // TCA_STATS2
	statsQueue   = 3  // TCA_STATS_QUEUE
	rootQueue    = 0xffffffff
)

// queues are the queues of the devices in this network namespace; those of the queues of a
// multi-queue device are added up.
func queues(k Kernel) (all []Queue, err error) {
	names := map[uint32]string{}
	err = k.Dump(0, route, dumpRequest(getLink, make([]byte, 16)), func(kind uint16, body []byte) {
		if kind != syscall.RTM_NEWLINK || len(body) < 16 {
			return
		}
		attributes(body[16:], func(kind uint16, value []byte) {
			if kind == linkName {
				names[binary.NativeEndian.Uint32(body[4:])] = text(value)
			}
		})
	})
	if err != nil {
		return nil, err
	}
	err = k.Dump(0, route, dumpRequest(getQueue, make([]byte, 20)), func(kind uint16, body []byte) {
		if kind != newQueue || len(body) < 20 || names[binary.NativeEndian.Uint32(body[4:])] == "" {
			return
		}
		q, root := parseQueue(body)
		q.Device = names[binary.NativeEndian.Uint32(body[4:])]
		if root && q.Kind != "noqueue" {
			all = append(all, q)
		}
	})
	return all, err
}

// parseQueue parses struct tcmsg and its attributes; root is false for queues below others,
// whose packets the root counts too.
func parseQueue(body []byte) (q Queue, root bool) {
	u32 := binary.NativeEndian.Uint32
	root = u32(body[12:]) == rootQueue
	attributes(body[20:], func(kind uint16, value []byte) {
		switch kind {
		case queueKind:
			q.Kind = text(value)
		case queueOptions:
			if q.Kind == "tbf" {
				attributes(value, func(kind uint16, parameters []byte) {
					if kind == 1 && len(parameters) >= 12 { // TCA_TBF_PARMS
						q.Rate = float64(u32(parameters[8:]))
					}
				})
			}
		case queueStats:
			attributes(value, func(kind uint16, stats []byte) {
				if kind == statsQueue && len(stats) >= 12 {
					q.Packets, q.Bytes, q.Drops = float64(u32(stats)), float64(u32(stats[4:])), float64(u32(stats[8:]))
				}
			})
		}
	})
	return q, root
}

// text is a string that ends with a zero byte.
func text(b []byte) string {
	for i, c := range b {
		if c == 0 {
			return string(b[:i])
		}
	}
	return string(b)
}
