package libvirt

import (
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"plimsoll/internal/agent/remote"
	"plimsoll/internal/guest/hardware"
	"plimsoll/internal/libvirt"
)

// resident is an existing domain, which outlives the study.
type resident struct {
	remote.Lasting
	settings Settings

	mu      sync.Mutex // guards the fields below
	conn    *libvirt.Conn
	domain  libvirt.Domain
	shape   document
	channel *libvirt.Conn
}

func newResident(s Settings) *resident {
	m := &resident{settings: s}
	m.Keep(m.agent)
	return m
}

// document is the part of a domain's XML that is read.
type document struct {
	Type     string `xml:"type,attr"`
	VCPUs    int    `xml:"vcpu"`
	Topology struct {
		Sockets int `xml:"sockets,attr"`
		Dies    int `xml:"dies,attr"`
		Cores   int `xml:"cores,attr"`
		Threads int `xml:"threads,attr"`
	} `xml:"cpu>topology"`
	Cells    []struct{} `xml:"cpu>numa>cell"`
	Channels []struct {
		Target struct {
			Type string `xml:"type,attr"`
			Name string `xml:"name,attr"`
		} `xml:"target"`
	} `xml:"devices>channel"`
}

func readDocument(text string) (d document, err error) {
	if err := xml.Unmarshal([]byte(text), &d); err != nil {
		return d, fmt.Errorf("read the domain's description: %w", err)
	}
	return d, nil
}

// channels are the names of its virtio channels.
func (d document) channels() (names []string) {
	for _, c := range d.Channels {
		if c.Target.Type == "virtio" {
			names = append(names, c.Target.Name)
		}
	}
	return names
}

// WhyFixed explains why no study varies the settings of the domain.
func (m *resident) WhyFixed() error {
	return fmt.Errorf("the settings of domain %s cannot be varied: omit the setting domain to create one for the study", m.Name())
}

// Name is the name of the domain.
func (m *resident) Name() string { return m.settings.Domain }

// agent connects to the domain's agent.
func (m *resident) agent(ctx context.Context) (*remote.Machine, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	_ = m.leave() // the calls that were cut off have said why
	if err := m.find(ctx); err != nil {
		return nil, err
	}
	limit, cancel := context.WithTimeout(ctx, time.Duration(m.settings.Boot))
	defer cancel()
	c, far, err := join(limit, m.settings.URI, m.domain, hardware.Port)
	if err != nil {
		return nil, fmt.Errorf("%w: start plimsoll-agent port in the domain", err)
	}
	m.channel = c
	return far, nil
}

// find looks the domain up and sees whether it can be reached.
func (m *resident) find(ctx context.Context) (err error) {
	if m.conn != nil {
		_ = m.conn.Close()
	}
	if m.conn, err = libvirt.Dial(ctx, m.settings.URI); err != nil {
		return err
	}
	if m.domain, err = m.conn.LookupName(ctx, m.Name()); err != nil {
		return err
	}
	state, err := m.conn.State(ctx, m.domain)
	if err != nil {
		return err
	}
	if !state.On() {
		return fmt.Errorf("domain %s is %s: start it", m.Name(), state)
	}
	text, err := m.conn.XML(ctx, m.domain)
	if err != nil {
		return err
	}
	if m.shape, err = readDocument(text); err != nil {
		return err
	}
	if names := m.shape.channels(); !slices.Contains(names, hardware.Port) {
		return fmt.Errorf("domain %s has no virtio channel named %s (it has %q): add one with virsh attach-device --persistent, of a file that holds "+
			"<channel type='unix'><target type='virtio' name='%s'/></channel>, or use platform ssh or fleet", m.Name(), hardware.Port, names, hardware.Port)
	}
	return nil
}

// leave closes the agent's channel; the agent continues.
func (m *resident) leave() error {
	channel := m.channel
	if m.channel = nil; channel == nil {
		return nil
	}
	return channel.Close()
}

func (m *resident) close(context.Context) error {
	return m.Shut(func(far *remote.Machine) (err error) {
		m.mu.Lock()
		defer m.mu.Unlock()
		if far != nil {
			err = far.Close()
		}
		err = errors.Join(err, m.leave())
		if m.conn != nil {
			err = errors.Join(err, m.conn.Close())
		}
		return err
	})
}
