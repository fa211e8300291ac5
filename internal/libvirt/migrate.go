package libvirt

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Flags of a migration.
const (
	migrateLive           = 1 << 0
	migratePersist        = 1 << 3 // define it on the destination
	migrateUndefineSource = 1 << 4
	migratePaused         = 1 << 5  // do not run it on the destination
	migrateProtect        = 1 << 8  // of the source: refuse changes until it is confirmed
	migrateUnsafe         = 1 << 9  // the disks are shared, whatever the daemon believes
	migrateOffline        = 1 << 10 // move the definition of a domain that is off
	migrateAbortOnError   = 1 << 12
	migrateAutoConverge   = 1 << 13
)

// patience is how long the ends of a migration are waited for after its context has ended.
const patience = 30 * time.Second

// Start starts a domain that is defined and off.
func (h Host) Start(ctx context.Context, v Domain) error {
	_, err := h.Conn.of(ctx, "start", procCreate, v)
	return err
}

// Shutdown asks the guest of a domain to power off, as by the button of its machine.
func (h Host) Shutdown(ctx context.Context, v Domain) error {
	_, err := h.Conn.of(ctx, "shut down", procShutdown, v)
	return err
}

// Migration is a migration to be made: of a running domain live, of one that is off its
// definition alone.
type Migration struct {
	Domain Domain
	// URI is where the destination's hypervisor receives memory, such as tcp://10.0.0.2; empty
	// if the destination's daemon is to say.
	URI string
	// AutoConverge slows a guest down that writes to memory faster than it is copied.
	AutoConverge bool
	// Pause suspends the domain while its memory is copied.
	Pause bool
	// Shared says that the disks are on storage that both hosts share, which daemons do not know
	// of all storage.
	Shared    bool
	Bandwidth int // MiB/s at most; 0 for no limit
	// Running is called with progress each second while memory is copied, where it is not nil.
	Running func(Job)
}

// Migrate migrates a domain from this connection's daemon to another. A persistent domain is
// persistent on the destination, and its definition leaves the source. It calls each phase
// itself: neither daemon needs access to the other, only the source's hypervisor to the
// destination's. When the context ends before the domain runs on the destination, the
// migration is cancelled and the domain stays.
func (h Host) Migrate(ctx context.Context, to Host, m Migration) (Domain, error) {
	p := &phases{Migration: m, from: h, to: to}
	moved, err := p.run(ctx)
	if err != nil {
		return moved, fmt.Errorf("migrate domain %s: %w", m.Domain.Name, err)
	}
	return moved, nil
}

// phases are those of one migration: version 3 of the protocol, driven by the client.
type phases struct {
	Migration
	from, to Host
	flags    uint32 // of the destination
	source   uint32 // flags that it has no use for, besides
	uri      string // of the destination
	xml      string // of the domain
}

func (p *phases) run(ctx context.Context) (Domain, error) {
	if err := p.choose(ctx); err != nil {
		return Domain{}, err
	}
	cookie, err := p.begin(ctx)
	if err != nil {
		return Domain{}, err
	}
	// From here on each phase must follow, even where the context has ended: both ends wait.
	late, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	cookie, err = p.prepare(ctx, cookie)
	if err != nil {
		return Domain{}, errors.Join(err, p.confirm(late, nil, false))
	}
	if p.flags&migrateOffline == 0 {
		cookie, err = p.perform(ctx, cookie)
	} else {
		cookie = nil // it is the destination's own
	}
	late, cancel = context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	moved, cookie, ended := p.finish(late, cookie, err == nil)
	if err == nil && lost(ended) && p.flags&migrateOffline == 0 {
		if moved, ended = p.queryDestination(ctx, ended); errors.Is(ended, errUnknown) {
			return moved, ended // unconfirmed, the source leaves it paused
		}
		late, cancel = context.WithTimeout(context.WithoutCancel(ctx), patience)
		defer cancel()
	}
	if err == nil {
		err = ended
	}
	left := p.confirm(late, cookie, err == nil)
	if err == nil && left != nil && code(left) == 0 {
		left = p.undefineSource(late, left)
	}
	if err == nil && left != nil {
		err = fmt.Errorf("it runs on the destination, and the source did not give it up: %w", left)
	}
	return moved, err
}

// choose chooses the flags by what the domain is.
func (p *phases) choose(ctx context.Context) error {
	state, err := p.from.Conn.State(ctx, p.Domain)
	if err != nil {
		return err
	}
	lasting, err := p.from.Persistent(ctx, p.Domain)
	if err != nil {
		return err
	}
	p.source = migrateProtect
	if lasting {
		p.flags |= migratePersist | migrateUndefineSource
	}
	if state == Off || state == Crashed {
		p.flags |= migrateOffline
		saved, err := Instance{p.from.Conn, p.Domain}.Saved(ctx)
		if saved {
			err = errSaved
		}
		return err
	}
	p.source |= migrateAbortOnError
	if state == Paused {
		p.flags |= migratePaused
	}
	if p.Shared {
		p.source |= migrateUnsafe
	}
	if p.Pause {
		return nil
	}
	p.flags |= migrateLive
	if p.AutoConverge {
		p.source |= migrateAutoConverge
	}
	return nil
}

// errSaved is of a domain whose definition would leave its memory behind: it would start without it, and
// go on with it some day, over disks that have changed.
var errSaved = errors.New("it has saved memory, which does not move with its definition: start it where it is, or drop the memory (virsh managedsave-remove)")

// parameters writes what both ends are to know; only the destination needs XML and name.
func (p *phases) parameters(e *encoder, uri string, destination bool) {
	var list encoder
	count := uint32(0)
	text := func(name, value string) {
		count++
		list.string(name)
		list.int32(typeString)
		list.string(value)
	}
	if uri != "" {
		text("migrate_uri", uri)
	}
	if destination {
		text("destination_xml", p.xml)
		text("destination_name", p.Domain.Name)
	}
	if p.Bandwidth > 0 {
		count++
		list.string("bandwidth")
		list.int32(typeUlong)
		list.uint64(uint64(p.Bandwidth))
	}
	e.uint32(count)
	e.b = append(e.b, list.b...)
}

// begin has the source describe the domain.
func (p *phases) begin(ctx context.Context) (cookie []byte, err error) {
	e := encoder{}
	p.Domain.encode(&e)
	p.parameters(&e, p.URI, false)
	e.uint32(p.flags | p.source)
	body, err := p.from.Conn.call(ctx, procMigrateBegin, e.b)
	if err != nil {
		return nil, fmt.Errorf("begin on the source: %w", err)
	}
	d := decoder{b: body}
	cookie = d.bytes()
	p.xml = d.string()
	return cookie, d.end()
}

// prepare has the destination wait for the domain.
func (p *phases) prepare(ctx context.Context, in []byte) (cookie []byte, err error) {
	e := encoder{}
	p.parameters(&e, p.URI, true)
	e.bytes(in)
	e.uint32(p.flags)
	body, err := p.to.Conn.call(ctx, procMigratePrepare, e.b)
	if err != nil {
		return nil, fmt.Errorf("prepare the destination: %w", err)
	}
	d := decoder{b: body}
	cookie = d.bytes()
	if p.uri = d.optional(); p.uri == "" {
		p.uri = p.URI
	}
	if err := d.end(); err != nil {
		return nil, fmt.Errorf("prepare the destination: %w", err)
	}
	if p.uri == "" && p.flags&migrateOffline == 0 {
		return nil, errors.New("prepare the destination: it does not say where it receives memory: give its address")
	}
	return cookie, nil
}

// perform copies the memory.
func (p *phases) perform(ctx context.Context, in []byte) (cookie []byte, err error) {
	e := encoder{}
	p.Domain.encode(&e)
	e.optional("")
	p.parameters(&e, p.uri, false)
	e.bytes(in)
	e.uint32(p.flags | p.source)
	stop := make(chan struct{})
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		p.attend(ctx, stop)
	}()
	body, err := p.from.Conn.call(context.WithoutCancel(ctx), procMigratePerform, e.b)
	close(stop)
	<-watched
	if err != nil {
		if ctx.Err() != nil {
			return nil, fmt.Errorf("cancelled while memory was copied: %w", context.Cause(ctx))
		}
		return nil, fmt.Errorf("copy memory: %w", err)
	}
	d := decoder{b: body}
	cookie = d.bytes()
	return cookie, d.end()
}

// attend reports progress, and cancels the copy when the context ends.
func (p *phases) attend(ctx context.Context, stop <-chan struct{}) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	ended := ctx.Done()
	for {
		select {
		case <-stop:
			return
		case <-ended:
			ended = nil
			late, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
			_ = p.from.AbortJob(late, p.Domain) // the copy may be over; the tick tries again
			cancel()
		case <-tick.C:
			if ended == nil {
				ended = ctx.Done()
			}
			if p.Running != nil && ctx.Err() == nil {
				if j, err := p.from.Job(ctx, p.Domain); err == nil {
					p.Running(j)
				}
			}
		}
	}
}

// finish has the destination run the domain, or forget it.
func (p *phases) finish(ctx context.Context, in []byte, good bool) (moved Domain, cookie []byte, err error) {
	e := encoder{}
	p.parameters(&e, p.uri, true)
	e.bytes(in)
	e.uint32(p.flags)
	e.int32(cancelled(good))
	body, err := p.to.Conn.call(ctx, procMigrateFinish, e.b)
	if err != nil {
		return Domain{}, nil, fmt.Errorf("finish on the destination: %w", err)
	}
	d := decoder{b: body}
	moved = d.domain()
	cookie = d.bytes()
	return moved, cookie, d.end()
}

// confirm has the source forget the domain, or run it again.
func (p *phases) confirm(ctx context.Context, in []byte, good bool) error {
	e := encoder{}
	p.Domain.encode(&e)
	p.parameters(&e, p.uri, false)
	e.bytes(in)
	e.uint32(p.flags | p.source)
	e.int32(cancelled(good))
	if _, err := p.from.Conn.call(ctx, procMigrateConfirm, e.b); err != nil {
		return fmt.Errorf("confirm on the source: %w", err)
	}
	return nil
}

func cancelled(good bool) int32 {
	if good {
		return 0
	}
	return 1
}
