package guest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"plimsoll/internal/guest/qemu"
	"plimsoll/internal/guest/vswitch"
	"plimsoll/internal/platform"
)

// The guests' addresses are 10.198.0.1 and on. No packet leaves the switch, so that each
// platform has all of them, whatever the networks of this host are.
const (
	networkBits   = 16
	perByte       = 250
	mostAddresses = perByte * perByte
)

// addressOf is the address of a guest by its number, which is never one that ends with 0
// or 255: some programs take these for more than one machine.
func addressOf(number int) netip.Addr {
	n := number - 1
	return netip.AddrFrom4([4]byte{10, 198, byte(n / perByte), byte(n%perByte + 1)})
}

// cardOf is the address of a guest's network card.
func cardOf(number int) string { return fmt.Sprintf("52:54:00:12:%02x:%02x", number>>8, number&255) }

// device is the name of the network card in a guest.
const device = "eth0"

// network is the switch between guests. It runs in this process: a frame costs it a
// fraction of what QEMU spends on the same frame.
type network struct{ of *vswitch.Switch }

func newNetwork() *network { return &network{vswitch.New(vswitch.Options{})} }

func (n *network) close() error { return n.of.Close() }

// plug is a guest's place in the network. It stays from boot to boot, where each has a
// connection of its own.
type plug struct {
	socket string
	cancel context.CancelFunc
	done   chan struct{}
	err    error // valid when done
	name   string
	of     *vswitch.Switch

	mu   sync.Mutex
	past vswitch.Counters // of connections that have ended
}

// plugIn makes a place, with its socket in a folder.
func (n *network) plugIn(ctx context.Context, name, folder string) (*plug, error) {
	p := &plug{socket: filepath.Join(folder, "network.sock"), done: make(chan struct{}), name: name, of: n.of}
	var config net.ListenConfig
	l, err := config.Listen(ctx, "unix", p.socket)
	if err != nil {
		return nil, fmt.Errorf("make a port for guest %s: %w", name, err)
	}
	ctx, p.cancel = context.WithCancel(context.WithoutCancel(ctx))
	go func() {
		defer close(p.done)
		p.err = n.of.Accept(ctx, l, name, p.gone)
	}()
	return p, nil
}

// gone keeps the counters of a connection that ended.
func (p *plug) gone(port *vswitch.Port, _ error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.past = p.past.Plus(port.Counters())
}

// counters are what went through the place since it was made.
func (p *plug) counters() vswitch.Counters {
	p.mu.Lock()
	defer p.mu.Unlock()
	sum := p.past
	for _, port := range p.of.Ports() {
		if port.Name() == p.name || strings.HasPrefix(port.Name(), p.name+"#") {
			sum = sum.Plus(port.Counters())
		}
	}
	return sum
}

// pull ends the place.
func (p *plug) pull() error {
	p.cancel()
	<-p.done
	return p.err
}

// connect gives a guest that is to boot its card, where the study has a network.
func (m *machine) connect(ctx context.Context, shape *qemu.Shape) (err error) {
	own := []string{"plimsoll.name=" + m.name}
	if m.settings.Network {
		if m.plug == nil {
			if m.plug, err = m.bed.net.plugIn(ctx, fmt.Sprintf("%s (%d)", m.name, m.number), m.home.Path); err != nil {
				return err
			}
		}
		shape.NICs = []qemu.NIC{{Name: device, Model: qemu.Model(m.settings.NIC), Link: qemu.LinkStream, Socket: m.plug.socket, MAC: cardOf(m.number)}}
		own = append(own, fmt.Sprintf("plimsoll.addr=%s=%s/%d", device, addressOf(m.number), networkBits))
	}
	shape.Parameters = append(own, shape.Parameters...)
	return nil
}

// Traffic is what the switch carried for the guest.
func (m *machine) Traffic() (t platform.Traffic, wired bool) {
	m.mu.Lock()
	plug, wired := m.plug, m.settings.Network
	m.mu.Unlock()
	if plug == nil {
		return t, wired
	}
	c := plug.counters()
	return platform.Traffic{FramesIn: c.Sent, FramesOut: c.Received, BytesIn: c.SentBytes, BytesOut: c.ReceivedBytes, Lost: c.QueueFull}, wired
}

// RoundTrip is the shortest of several round trips to the first other guest that runs.
func (m *machine) RoundTrip(ctx context.Context) (time.Duration, error) {
	far, err := m.linked(ctx)
	if err != nil {
		return 0, err
	}
	other := m.bed.room.first(m.number)
	if other == 0 {
		return 0, nil
	}
	text, err := run(ctx, far, "roundtrip", addressOf(other).String())
	if err != nil {
		return 0, err
	}
	seconds, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return 0, fmt.Errorf("read the round trip between guests: %w", err)
	}
	return time.Duration(seconds * float64(time.Second)), nil
}

// Address is the guest's address in the network of the study.
func (m *machine) Address(context.Context) (string, error) {
	if !m.wanted().Network {
		return "", fmt.Errorf("guest %s is in no network: set network: true for platform guest", m.Name())
	}
	return addressOf(m.number).String(), nil
}

// needs is what the guest may come to take of this host.
func (m *machine) needs() claim {
	memory := int64(m.settings.Memory)
	if hugePages[m.settings.HugePages] != 0 {
		memory = 0 // these were set aside already
	}
	return claim{m.number, memory, int64(m.settings.Disk) + int64(m.settings.Pmem), filepath.Join(m.home.Path, dataImage)}
}

// needsNow is needs for whoever does not hold the machine.
func (m *machine) needsNow() claim {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.needs()
}

// errEnded is said of a guest that a later call of Members had no use for.
var errEnded = errors.New("the study has ended it")
