package libvirt

import (
	"context"
	"fmt"
)

// Domain is a virtual machine, as the daemon names it.
type Domain struct {
	Name string
	UUID [16]byte
	ID   int // negative if it does not run
}

func (d Domain) encode(e *encoder) {
	e.string(d.Name)
	e.fixed(d.UUID[:])
	e.int32(int32(d.ID))
}

const leastDomain = 4 + 16 + 4 // bytes

func (d *decoder) domain() (v Domain) {
	v.Name = d.string()
	copy(v.UUID[:], d.take(len(v.UUID)))
	v.ID = int(d.int32())
	return v
}

// State is the state of a domain.
type State int

// States, as libvirt numbers them.
const (
	Running State = 1
	Blocked State = 2
	Paused  State = 3
	Leaving State = 4 // it was asked to power off
	Off     State = 5
	Crashed State = 6
	Asleep  State = 7
)

// String is the name in libvirt's tools.
func (s State) String() string {
	words := []string{"no state", "running", "blocked", "paused", "in shutdown", "shut off", "crashed", "pmsuspended"}
	if s < 0 || int(s) >= len(words) {
		return fmt.Sprintf("state %d", int(s))
	}
	return words[s]
}

// On is true for a running domain.
func (s State) On() bool { return s == Running || s == Blocked }

// AutoDestroy destroys the domain with the connection.
const AutoDestroy = 1 << 1

// CreateXML starts a transient domain. Flags are AutoDestroy or 0.
func (c *Conn) CreateXML(ctx context.Context, xml string, flags uint32) (Domain, error) {
	e := encoder{}
	e.string(xml)
	e.uint32(flags)
	return c.asDomain(ctx, "create a domain", procCreateXML, e.b)
}

// Validate validates the XML against libvirt's schema.
const Validate = 1 << 0

// DefineXML defines a persistent domain without starting it. Flags are Validate or 0.
func (c *Conn) DefineXML(ctx context.Context, xml string, flags uint32) (Domain, error) {
	e := encoder{}
	e.string(xml)
	e.uint32(flags)
	return c.asDomain(ctx, "define a domain", procDefineXML, e.b)
}

// LookupName finds a domain by its name.
func (c *Conn) LookupName(ctx context.Context, name string) (Domain, error) {
	e := encoder{}
	e.string(name)
	return c.asDomain(ctx, "look up domain "+name, procLookupName, e.b)
}

// LookupUUID finds a domain by its UUID.
func (h Host) LookupUUID(ctx context.Context, uuid [16]byte) (Domain, error) {
	e := encoder{}
	e.fixed(uuid[:])
	return h.Conn.asDomain(ctx, "look up a domain by its UUID", procLookupUUID, e.b)
}

func (c *Conn) asDomain(ctx context.Context, what string, procedure int32, args []byte) (v Domain, err error) {
	body, err := c.call(ctx, procedure, args)
	if err == nil {
		d := decoder{b: body}
		v, err = d.domain(), d.end()
	}
	if err != nil {
		return v, fmt.Errorf("%s: %w", what, err)
	}
	return v, nil
}

// Domains lists all domains.
func (c *Conn) Domains(ctx context.Context) ([]Domain, error) { return list(ctx, c, 0) }

// Saved lists the domains that have saved memory, from which they start.
func (h Host) Saved(ctx context.Context) ([]Domain, error) {
	const saved = 1 << 8
	return list(ctx, h.Conn, saved)
}

func list(ctx context.Context, c *Conn, flags uint32) ([]Domain, error) {
	e := encoder{}
	e.uint32(1) // with the domains, and not their number alone
	e.uint32(flags)
	body, err := c.call(ctx, procListAll, e.b)
	if err != nil {
		return nil, fmt.Errorf("list domains: %w", err)
	}
	d := decoder{b: body}
	all := make([]Domain, d.count(leastDomain))
	for i := range all {
		all[i] = d.domain()
	}
	d.uint32() // their number
	return all, d.end()
}

// of calls a procedure whose arguments are a domain and flags.
func (c *Conn) of(ctx context.Context, what string, procedure int32, v Domain, flags ...uint32) (*decoder, error) {
	e := encoder{}
	v.encode(&e)
	for _, f := range flags {
		e.uint32(f)
	}
	body, err := c.call(ctx, procedure, e.b)
	if err != nil {
		return nil, fmt.Errorf("%s domain %s: %w", what, v.Name, err)
	}
	return &decoder{b: body}, nil
}

// Persistent reports whether the definition of a domain stays when it ends.
func (h Host) Persistent(ctx context.Context, v Domain) (bool, error) {
	d, err := h.Conn.of(ctx, "query", procIsPersistent, v)
	if err != nil {
		return false, err
	}
	yes := d.int32() != 0
	return yes, d.end()
}

// Destroy stops a domain at once.
func (c *Conn) Destroy(ctx context.Context, v Domain) error {
	_, err := c.of(ctx, "destroy", procDestroy, v)
	return err
}

// Undefine removes the definition of a domain.
func (c *Conn) Undefine(ctx context.Context, v Domain) error {
	_, err := c.of(ctx, "undefine", procUndefine, v)
	return err
}

// State asks for the state of a domain.
func (c *Conn) State(ctx context.Context, v Domain) (State, error) {
	d, err := c.of(ctx, "ask for the state of", procState, v, 0)
	if err != nil {
		return 0, err
	}
	s := State(d.int32())
	d.int32() // why
	return s, d.end()
}

// XML is the description of a domain, of the running one if it runs.
func (c *Conn) XML(ctx context.Context, v Domain) (string, error) {
	d, err := c.of(ctx, "describe", procXML, v, 0)
	if err != nil {
		return "", err
	}
	return d.string(), d.end()
}
