package local

import (
	"context"
	"net"
)

// Dial connects from this machine.
func (m *machine) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	return (&net.Dialer{}).DialContext(ctx, network, address)
}
