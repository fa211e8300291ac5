package machines

import (
	"context"
	"fmt"
	"time"

	"plimsoll/internal/measure"
	"plimsoll/internal/platform"
)

// HostName is the name of this host as the host of machines of a trial.
const HostName = "host"

// Hypervisor is this host, where it runs the machines of a trial. It is read once, however many
// they are.
type Hypervisor struct {
	// Missing is why the host is not read; empty if it is.
	Missing string
	host    host
}

// Hypervisor is the host of machines that are guests; nil if none is.
func (c Set) Hypervisor(ctx context.Context) *Hypervisor {
	var h *Hypervisor
	for _, m := range c {
		if local, ok := m.At.Machine.(platform.Local); ok && local.Local() {
			return nil // which is this host, and is read
		}
		guest, ok := m.At.Machine.(platform.Hosted)
		if !ok {
			continue
		}
		if h == nil {
			h = &Hypervisor{host: host{name: HostName, served: true, shared: &following{}, owner: true}}
		}
		pid, err := guest.Process(ctx)
		if err != nil {
			h.Missing = fmt.Sprintf("%s%s: %v", measure.HostOf, m.At.Machine.Name(), err)
			continue
		}
		h.host.guests = append(h.host.guests, pid)
	}
	if h != nil && len(h.host.guests) > 0 {
		h.Missing = ""
	}
	return h
}

func (h *Hypervisor) read() bool { return h != nil && len(h.host.guests) > 0 }

// Begin takes the first reading and continues until End.
func (h *Hypervisor) Begin(every time.Duration) {
	if h.read() {
		h.host.shared.stop, h.host.shared.cancel = make(chan struct{}), func() {}
		h.host.beginHere(max(every, sampleEvery))
	}
}

// End takes the last reading, and returns when nothing reads any more. Times are since the load
// began.
func (h *Hypervisor) End(began time.Time) {
	if h.read() {
		h.host.end(began)
	}
}

// State is the state file of the host, with the mean over a window; nil if the host was not read.
func (h *Hypervisor) State(w measure.Window) []byte {
	if !h.read() {
		return nil
	}
	const grace = .5 // seconds: the last reading is taken after the last interval of the load
	return h.host.detail(w, grace, nil)
}
