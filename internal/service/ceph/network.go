package ceph

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/netip"
	"path"
	"strconv"
	"strings"
	"time"

	"plimsoll/internal/load"
	"plimsoll/internal/parameter"
	"plimsoll/internal/platform"
	"plimsoll/internal/router"
	"plimsoll/internal/service"
	"plimsoll/internal/service/ceph/counter"
)

// The networks of a private cluster.
const (
	hostNetwork = "host"
	namespaces  = "namespaces" // one for each OSD, with a router between them
)

// socketOfRouter is in the folder of the cluster.
const socketOfRouter = "net.sock"

// subnet has the addresses of a cluster in namespaces: the first is that of the host, on which monitor and clients are, the next those of the OSDs.
type subnet struct {
	number int
	prefix netip.Prefix
}

// subnetOf is one of 2,048 networks, in the range for tests of networks, for the port of a monitor.
//
// Source: RFC 2544, 198.18.0.0/15.
func subnetOf(port int) subnet {
	const bits, networks = 26, 2048 // the host and up to 32 OSDs
	n := subnet{number: port % networks}
	at := 198<<24 + 18<<16 + n.number<<(32-bits)
	n.prefix = netip.PrefixFrom(netip.AddrFrom4([4]byte{byte(at >> 24), byte(at >> 16), byte(at >> 8), byte(at)}), bits)
	return n
}

func (n subnet) host() netip.Addr { return n.prefix.Addr().Next() }

func (n subnet) osd(number int) netip.Addr {
	at := n.host()
	for range number + 1 {
		at = at.Next()
	}
	return at
}

// link names the links of the cluster on the host; those to OSDs have their number after it.
func (n subnet) link() string { return fmt.Sprintf("plimsoll%d", n.number) }

// separated refuses a latency or a rate where nothing can have it.
func (s Settings) separated() error {
	for name, set := range map[string]bool{"network_rate": s.Bandwidth > 0, "network_latency": s.Latency > 0, "site_latency": s.SiteLatency > 0} {
		if set && s.Network == hostNetwork {
			return fmt.Errorf("%s is that of a network between namespaces: set network: %s", name, namespaces)
		}
	}
	return nil
}

// links are the settings of the router.
func (s Settings) links() router.Settings {
	return router.Settings{Latency: time.Duration(s.Latency), SiteLatency: time.Duration(s.SiteLatency), Rate: int64(s.Bandwidth)}
}

// router is the network between the OSDs. Clients are on the first site; they reach the OSDs of that by links of their own, and others through the router.
func (s Settings) router(dir string, net subnet) router.Options {
	o := router.Options{
		Socket: path.Join(dir, socketOfRouter), Bits: net.prefix.Bits(), Settings: s.links(),
	}
	for n := range s.OSDs {
		o.Ports = append(o.Ports, router.Port{Name: osd(n), Address: net.osd(n), Device: "tun0", Site: s.siteOf(n), Namespace: path.Join(dir, osd(n)+".netns")})
	}
	if s.Sites > 1 || s.OSDs == 1 { // a router has two ports
		o.Ports = append(o.Ports, router.Port{Name: "clients", Address: net.host(), Device: net.link(), Site: 1})
	}
	return o
}

// networkFile describes the network to its router.
const networkFile = "network.json"

// releaseLinks removes the links of a cluster that was killed: what OSDs have left to send can keep their namespaces, and with those the links, for minutes.
func releaseLinks(ctx context.Context, m platform.Machine, folder string) error {
	if _, err := m.ReadFile(ctx, path.Join(folder, networkFile)); err != nil {
		return nil //nolint:nilerr // it has no links
	}
	const script = `for link in /sys/class/net/plimsoll*; do
	read -r of <"$link/ifalias" && [ "$of" = "$1" ] && { ip link del "${link##*/}" || [ ! -e "$link" ] || exit 1; }
done 2>&1; true`
	r, err := m.Run(ctx, platform.Command{Argv: []string{"sh", "-c", script, "sh", folder}})
	if err == nil && r.Exit != 0 {
		err = errors.New(strings.TrimSpace(string(r.Stdout)))
	}
	if err != nil {
		return fmt.Errorf("remove the links to OSDs: %w", err)
	}
	return nil
}

// network is the network between the OSDs of a private cluster.
type network struct {
	daemons daemons
	pings   map[string][2]string // pairs of OSDs for round trips, by the metric of these; nil without a router

	arguments []string                  // further ones of start.sh
	files     iter.Seq2[string, []byte] // that it reads
}

// network is the network of a cluster at a place, whose host becomes that of the network.
func (s Settings) network(ctx context.Context, env service.Env, place *service.Location) (n network, err error) {
	n = network{daemons: daemons{placesOf(env), s.OSDs}, files: func(func(string, []byte) bool) {}}
	if s.Network != namespaces {
		return n, nil
	}
	self, err := service.Self(ctx, env.Machine)
	if err != nil {
		return n, fmt.Errorf("start the router between the OSDs: %w", err)
	}
	net := subnetOf(place.Ports[0])
	place.Host = net.host().String()
	options, err := json.Marshal(s.router(place.Dir, net))
	if err != nil {
		return n, fmt.Errorf("start the router between the OSDs: %w", err)
	}
	onFirst := s.OSDs / s.Sites
	n.arguments, n.files = []string{self, net.link(), strconv.Itoa(onFirst)}, service.Files(networkFile, options)
	n.pings = map[string][2]string{}
	if s.Sites > 1 {
		n.pings[counter.SitesRTT] = [2]string{osd(0), osd(s.OSDs - 1)}
	}
	if onFirst > 1 {
		n.pings[counter.NetworkRTT] = [2]string{osd(0), osd(1)}
	}
	return n, nil
}

// changes are what a network changes on the host.
func (s Settings) changes() []string {
	if s.Network != namespaces {
		return nil
	}
	return []string{"makes a network namespace for each OSD, and links plimsoll* to them with addresses in 198.18.0.0/15, and removes them"}
}

// fitsNetwork finds what is missing for namespaces.
func (s Settings) fitsNetwork(ctx context.Context, m platform.Machine) error {
	if s.Network != namespaces {
		return nil
	}
	try := func(command string) (string, bool) {
		r, err := m.Run(ctx, platform.Command{Argv: []string{"sh", "-c", command}})
		return strings.TrimSpace(string(r.Stdout) + string(r.Stderr)), err == nil && r.Exit == 0
	}
	if id, _ := try("id -u"); id != "0" {
		return fmt.Errorf("network %s requires root: run plimsoll as root, or set network: %s", namespaces, hostNetwork)
	}
	for _, need := range []struct{ program, from string }{{"ip", "iproute2"}, {"nsenter", "util-linux"}, {"unshare", "util-linux"}} {
		if _, found := try("command -v " + need.program); !found {
			return fmt.Errorf("network %s requires %s: apt install %s", namespaces, need.program, need.from)
		}
	}
	for _, need := range []struct{ command, what string }{{"unshare --net true", "permission to create network namespaces"}, {": <>/dev/net/tun", "/dev/net/tun"}} {
		if said, works := try(need.command); !works {
			return fmt.Errorf("network %s requires %s, or set network: %s: %s", namespaces, need.what, hostNetwork, said)
		}
	}
	if _, err := service.Self(ctx, m); err != nil {
		return fmt.Errorf("network %s requires a router: %w", namespaces, err)
	}
	return nil
}

// request sends a request to the router.
func (n network) request(ctx context.Context, q router.Request) (is router.State, err error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	conn, err := service.Dial(ctx, n.daemons.places[0].machine, load.Endpoint{Network: "unix", Address: path.Join(n.daemons.places[0].dir, socketOfRouter)})
	if err != nil {
		return is, fmt.Errorf("ask the router: %w", err)
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	return router.Ask(conn, q)
}

// change changes the settings of the router, if there is one.
func (n network) change(ctx context.Context, to router.Settings) error {
	if n.pings == nil {
		return nil
	}
	if _, err := n.request(ctx, router.Request{Set: &to}); err != nil {
		return fmt.Errorf("change the network between the OSDs: %w", err)
	}
	return nil
}

// ask reads the state of the router, and measures its round trips.
func (n network) ask(ctx context.Context) (is router.State, trips map[string]time.Duration, err error) {
	var names []string
	var q router.Request
	for name, ends := range n.pings {
		names, q.Pings = append(names, name), append(q.Pings, ends)
	}
	if is, err = n.request(ctx, q); err != nil {
		return is, nil, err
	}
	trips = map[string]time.Duration{}
	for i, name := range names {
		if i < len(is.Pings) {
			trips[name] = is.Pings[i]
		}
	}
	return is, trips, nil
}

// observe reads the network back: that of the processes of the OSDs, the settings of its router, and that round trips take as long as these say.
func (n network) observe(ctx context.Context, observed map[string]string) error {
	apart, known, err := n.namespaces(ctx)
	if err != nil || !known {
		return err
	}
	var is router.State
	observed["network"] = hostNetwork
	if apart {
		observed["network"] = namespaces
		var trips map[string]time.Duration
		if is, trips, err = n.ask(ctx); err != nil {
			return err
		}
		if err := truthful(is.Settings, trips); err != nil {
			return err
		}
	}
	observed["network_rate"] = parameter.Bytes(is.Settings.Rate).String()
	observed["network_latency"] = parameter.Duration(is.Settings.Latency).String()
	observed["site_latency"] = parameter.Duration(is.Settings.SiteLatency).String()
	return nil
}

// truthful compares what the router says of its latency with round trips.
func truthful(set router.Settings, trips map[string]time.Duration) error {
	for name, least := range map[string]time.Duration{counter.NetworkRTT: 2 * set.Latency, counter.SitesRTT: 2 * (set.Latency + set.SiteLatency)} {
		if took, measured := trips[name]; measured && took < least {
			return fmt.Errorf("a round trip between OSDs takes %v, which is less than the %v of the settings of the router", took, least)
		}
	}
	return nil
}

// namespaces reports whether each OSD is in a network namespace of its own, and not in that of the host. It is not known where the OSDs are those of another
// user.
func (n network) namespaces(ctx context.Context) (apart, known bool, err error) {
	for machine := range n.daemons.places {
		are, known, err := n.namespacesOn(ctx, machine)
		if err != nil || !known {
			return false, known, err
		}
		if machine > 0 && are != apart {
			return false, false, errors.New("on some machines OSDs have network namespaces of their own, and on others they have not")
		}
		apart = are
	}
	return apart, true, nil
}

func (n network) namespacesOn(ctx context.Context, machine int) (apart, known bool, err error) {
	at := n.daemons.places[machine]
	links := []string{"readlink", "/proc/self/ns/net"}
	for _, number := range n.daemons.on(machine) {
		pid, err := at.machine.ReadFile(ctx, path.Join(at.dir, osd(number)+".pid"))
		if err != nil {
			return false, false, fmt.Errorf("find the process of %s: %w", osd(number), err)
		}
		links = append(links, "/proc/"+strings.TrimSpace(string(pid))+"/ns/net")
	}
	r, err := at.machine.Run(ctx, platform.Command{Argv: links})
	if err != nil {
		return false, false, fmt.Errorf("read the network namespaces of the OSDs: %w", err)
	}
	all := strings.Fields(string(r.Stdout)) // without OSDs that have ended
	different := map[string]bool{}
	for _, space := range all {
		different[space] = true
	}
	switch {
	case len(all) < 2:
		return false, false, nil
	case len(different) == 1:
		return false, true, nil
	case len(different) == len(all):
		return true, true, nil
	}
	return false, false, errors.New("some OSDs share a network namespace, and others do not")
}

// count adds the counters of the router, and its round trips.
func (n network) count(ctx context.Context, all map[string]float64) error {
	if n.pings == nil {
		return nil
	}
	is, trips, err := n.ask(ctx)
	if err != nil {
		return err
	}
	for name, took := range trips {
		all[name] = took.Seconds()
	}
	all[counter.NetworkBytes] = float64(is.Counters.Bytes)
	all[counter.NetworkDrops] = float64(is.Counters.Full + is.Counters.Refused)
	all[counter.NetworkCPU] = is.CPU.Seconds()
	return nil
}
