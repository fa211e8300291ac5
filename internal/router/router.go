// Package router forwards IP packets between network namespaces in user space, with a latency and a rate for each link. It stands for the network of
// several hosts on one, also where the kernel has no network emulator.
//
// Each port is a TUN device. A packet leaves its port at the rate of that link, takes the latency of the two ports, and enters the link of its destination
// at the rate of that. Packets between two ports stay in order. What exceeds the queue of a port is dropped and counted.
//
// The namespaces and devices belong to the process of the router and go away with it, however it ends.
package router

import (
	"errors"
	"fmt"
	"net/netip"
	"time"
)

// Settings are those of the network. They may change while it runs.
type Settings struct {
	// Latency is that of packets between two namespaces, one way.
	Latency time.Duration `json:"latency"`
	// SiteLatency is added between ports on different sites.
	SiteLatency time.Duration `json:"site_latency"`
	// Rate is the bytes per second of the link of each namespace in each direction; 0 is no limit.
	Rate int64 `json:"rate"`
}

// Longest is the longest latency, to catch a wrong unit.
const Longest = time.Second

func (s Settings) check() error {
	for _, d := range []time.Duration{s.Latency, s.SiteLatency} {
		if d < 0 || d > Longest {
			return fmt.Errorf("a latency of %v: must be from 0s to %v", d, Longest)
		}
	}
	if s.Rate < 0 {
		return fmt.Errorf("a rate of %d: must be 0 or more bytes per second", s.Rate)
	}
	return nil
}

// latency is that from one port to another.
func (s Settings) latency(from, to Port) (d time.Duration) {
	if from.Namespace != "" && to.Namespace != "" {
		d = s.Latency
	}
	if from.Site != to.Site {
		d += s.SiteLatency
	}
	return d
}

// rate is that of the link of a port.
func (s Settings) rate(p Port) int64 {
	if p.Namespace == "" {
		return 0
	}
	return s.Rate
}

// Port is a port of the router.
type Port struct {
	Name    string     `json:"name"`
	Address netip.Addr `json:"address"` // IPv4
	Device  string     `json:"device"`  // name of its TUN device
	Site    int        `json:"site"`
	// Namespace is a symbolic link to create to its network namespace. Without one the device is in the namespace of the router, for
	// clients, to which neither latency within a site nor rate applies.
	Namespace string `json:"namespace,omitempty"`
}

// Options are what a router starts with.
type Options struct {
	Socket   string   `json:"socket"` // Unix socket for requests: see Ask
	Bits     int      `json:"bits"`   // length of the prefix that all addresses share
	Ports    []Port   `json:"ports"`
	Settings Settings `json:"settings"`
}

const mostPorts = 256

func (o Options) check() error {
	if len(o.Ports) < 2 || len(o.Ports) > mostPorts {
		return fmt.Errorf("%d ports: must be 2 to %d", len(o.Ports), mostPorts)
	}
	seen := map[any]string{}
	network := netip.PrefixFrom(o.Ports[0].Address, o.Bits)
	for _, p := range o.Ports {
		if !p.Address.Is4() || !network.Contains(p.Address) {
			return fmt.Errorf("port %s has address %s, which is not one of %s", p.Name, p.Address, network.Masked())
		}
		for _, key := range []any{p.Name, p.Address} {
			if other, taken := seen[key]; taken {
				return fmt.Errorf("ports %s and %s share %v", other, p.Name, key)
			}
			seen[key] = p.Name
		}
	}
	if o.Socket == "" {
		return errors.New("no socket for requests")
	}
	return o.Settings.check()
}
