package fleet

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"plimsoll/internal/agent/fabric"
	"plimsoll/internal/agent/remote"
)

// machine is the machine of an agent. A lost connection is made again when the machine is
// next needed and its agent is back.
type machine struct {
	remote.Lasting
	fleet  *fleet
	member fabric.Member // as it was when it was chosen
}

func newMachine(f *fleet, of fabric.Member) *machine {
	m := &machine{fleet: f, member: of}
	m.Keep(m.connect)
	return m
}

// connect waits for the agent and connects to it. An agent that leaves meanwhile is waited for again:
// nothing was asked of it yet.
func (m *machine) connect(ctx context.Context) (*remote.Machine, error) {
	ctx, cancel := m.fleet.patience(ctx, m.fleet.settings)
	defer cancel()
	lab := m.fleet.room.Lab
	for {
		if _, err := lab.AwaitAll(ctx, m.joined); err != nil {
			return nil, fmt.Errorf("wait for agent %s, which left: %w", m.Name(), err)
		}
		left, _ := lab.Gone(m.member.ID)
		far, err := m.dial(ctx)
		if err == nil {
			return far, nil
		}
		select {
		case <-left:
		default:
			return nil, err
		}
	}
}

func (m *machine) dial(ctx context.Context) (*remote.Machine, error) {
	stream, err := m.fleet.room.Lab.Dial(m.member.ID)
	if err != nil {
		return nil, err
	}
	far, err := remote.Client{Silence: remote.Endless}.Connect(ctx, stream)
	if err != nil {
		return nil, fmt.Errorf("agent %s: %w", m.Name(), err)
	}
	return far, nil
}

func (m *machine) joined(all []fabric.Member) bool {
	return slices.ContainsFunc(all, func(o fabric.Member) bool { return o.ID == m.member.ID })
}

// goodbye is how long an agent may take to restore everything.
const goodbye = 10 * time.Second

// close ends the connection. An agent without one restores its settings automatically.
func (m *machine) close() error {
	return m.Shut(func(far *remote.Machine) error {
		if far == nil {
			return nil
		}
		ctx, cancel := context.WithTimeout(context.Background(), goodbye)
		defer cancel()
		return far.End(ctx)
	})
}

// Name is the agent's.
func (m *machine) Name() string { return cmp.Or(m.member.Name, m.member.ID) }

// Scratch is the folder on the machine for workloads.
func (m *machine) Scratch() string { return strings.TrimSuffix(m.member.Facts.Scratch, "/") + "/study" }

// addressLabel is the label for the address of an agent.
const addressLabel = "address"

// Address is the address for other machines: from the label, or else the one from which the
// agent reaches the lab.
func (m *machine) Address(context.Context) (string, error) {
	if labelled := m.member.Labels[addressLabel]; labelled != "" {
		return labelled, nil
	}
	own := m.member.Facts.Address
	ip := net.ParseIP(own)
	if ip == nil {
		return "", fmt.Errorf("the address of agent %s is unknown: start it with --label %s=ADDRESS", m.Name(), addressLabel)
	}
	for _, o := range m.fleet.room.Lab.Members() {
		if other := net.ParseIP(o.Facts.Address); ip.IsLoopback() && other != nil && !other.IsLoopback() {
			return "", fmt.Errorf("agent %s reaches the lab over loopback, where agent %s cannot reach it: start it with --label %s=ADDRESS", m.Name(), o.Name, addressLabel)
		}
	}
	return own, nil
}
