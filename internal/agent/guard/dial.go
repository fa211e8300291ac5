package guard

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"

	"plimsoll/internal/platform"
)

// Dial connects to listeners on the machine itself, where the services of a study are: on
// its addresses or at a socket in the scratch folder. Other addresses require that the
// owner allows commands.
func (w *Machine) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	dialer, ok := w.Whole.(platform.Dialer)
	if !ok {
		return nil, fmt.Errorf("machine %s cannot forward connections: %w", w.Name(), errors.ErrUnsupported)
	}
	if !w.rules.Commands {
		own, err := net.InterfaceAddrs()
		if err != nil {
			return nil, fmt.Errorf("list the addresses of this machine: %w", err)
		}
		if err := w.rules.checkDial(network, address, own); err != nil {
			return nil, err
		}
	}
	return dialer.Dial(ctx, network, address)
}

// checkDial requires an address of this machine. Host names are rejected, since their
// resolution may change.
func (r Rules) checkDial(network, address string, own []net.Addr) error {
	if network == "unix" && r.inScratch(address) {
		return nil
	}
	if network != "unix" {
		at, err := netip.ParseAddrPort(address)
		if err == nil && at.Addr().Unmap().IsLoopback() {
			return nil
		}
		for _, o := range own {
			if p, broken := netip.ParsePrefix(o.String()); err == nil && broken == nil && p.Addr().Unmap() == at.Addr().Unmap() {
				return nil
			}
		}
	}
	return fmt.Errorf("connect to %s, not an address of this machine: %w: it can start the agent with --allow-commands", address, ErrNotAllowed)
}
