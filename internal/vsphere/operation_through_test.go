package vsphere_test

import (
	"context"
	"net"
	"testing"

	"plimsoll/internal/vsphere/operation"
	"plimsoll/internal/vsphere/sim/task"
)

// A vCenter that only another machine reaches is spoken to through that machine, and its certificate verified all the same.
func TestOperationsThroughAnotherMachine(t *testing.T) {
	t.Parallel()
	at := startSimulated(t, task.Options{})
	really := at.Address
	at.Address = "192.0.2.1:443" // nobody has it
	var dialled int
	at.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		if dialled++; network != "tcp" || address != "192.0.2.1:443" {
			t.Errorf("dialled %s %s", network, address)
		}
		return (&net.Dialer{}).DialContext(ctx, network, really)
	}
	s, err := openOperations(t, at).Survey(t.Context(), "", "")
	if err != nil || len(s.Hosts) == 0 || dialled == 0 {
		t.Errorf("%d hosts through %d connections, %v", len(s.Hosts), dialled, err)
	}
	at.Thumbprint = "00" + at.Thumbprint[2:]
	if p, err := operation.Open(t.Context(), at); err == nil {
		t.Error("a vCenter with another certificate was accepted", p.Close())
	}
}
