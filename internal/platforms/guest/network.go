package guest

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"time"

	"plimsoll/internal/guest/hardware"
	"plimsoll/internal/guest/provision"
	"plimsoll/internal/guest/spec"
	"plimsoll/internal/guest/vswitch"
	"plimsoll/internal/platform"
)

// The guests' addresses are 10.198.0.1 and on. No packet leaves the switch, so that each
// platform has all of them, whatever the networks of this host are.
const (
	networkBits   = 16
	perByte       = 250
	mostAddresses = perByte * perByte
	// mostGuests is half of them, because the disk of a guest may be that of another one: see target.
	mostGuests = mostAddresses / 2
)

// addressOf is the address of a guest by its number, which is never one that ends with 0
// or 255: some programs take these for more than one machine.
func addressOf(number int) netip.Addr {
	n := number - 1
	return netip.AddrFrom4([4]byte{10, 198, byte(n / perByte), byte(n%perByte + 1)})
}

// cardOf is the address of a guest's network card.
func cardOf(number int) string { return fmt.Sprintf("52:54:00:12:%02x:%02x", number>>8, number&255) }

// connect gives a VM that is to boot its network card, where the study has a network.
func (s *slot) connect(ctx context.Context, name string, g spec.Guest, shape *hardware.Shape) (err error) {
	if g.Network {
		if s.plug == nil {
			if s.plug, err = s.bed.network.Plug(ctx, fmt.Sprintf("%s (%d)", name, s.number), s.home.File("network.sock")); err != nil {
				return err
			}
		}
		addCard(shape, g, s.plug, s.number)
	}
	shape.Parameters = append([]string{named(name)}, shape.Parameters...)
	return nil
}

// named is the kernel parameter with the name of a VM.
func named(name string) string { return "plimsoll.name=" + name }

// addCard adds a network card at a port of the switch, with the address of a number.
func addCard(shape *hardware.Shape, g spec.Guest, plug *vswitch.Plug, number int) {
	shape.NICs = []hardware.NIC{{Name: provision.Ethernet, Model: hardware.Model(g.NIC), Socket: plug.Socket, MAC: cardOf(number)}}
	shape.Parameters = append([]string{fmt.Sprintf("plimsoll.addr=%s=%s/%d", provision.Ethernet, addressOf(number), networkBits)}, shape.Parameters...)
}

// Traffic is the switch's traffic of the VM.
func (m *machine) Traffic() (t platform.Traffic, wired bool) {
	m.mu.Lock()
	plug := m.slot.plug
	m.mu.Unlock()
	wired = m.Spec().Network
	if plug == nil {
		return t, wired
	}
	c := plug.Counters()
	return platform.Traffic{FramesIn: c.Sent, FramesOut: c.Received, BytesIn: c.SentBytes, BytesOut: c.ReceivedBytes, Lost: c.QueueFull}, wired
}

// RoundTrip is the shortest of several round trips to the first other VM that runs.
func (m *machine) RoundTrip(ctx context.Context) (time.Duration, error) {
	if _, err := m.Address(ctx); err != nil {
		return 0, err
	}
	far, err := m.agent(ctx)
	if err != nil {
		return 0, err
	}
	other := m.slot.bed.capacity.First(m.slot.number)
	if other == 0 {
		return 0, nil
	}
	text, err := provision.Ask(ctx, far, "roundtrip", addressOf(other).String())
	if err != nil {
		return 0, err
	}
	seconds, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return 0, fmt.Errorf("read the round trip between guests: %w", err)
	}
	return time.Duration(seconds * float64(time.Second)), nil
}

// Address is the VM's address in the network of the study.
func (m *machine) Address(context.Context) (string, error) {
	if !m.Spec().Network {
		return "", fmt.Errorf("guest %s has no network: set network: true for platform guest", m.Name())
	}
	return addressOf(m.slot.number).String(), nil
}

// errEnded is the error of a VM that a later call of Members ended.
var errEnded = errors.New("the study has ended it")
