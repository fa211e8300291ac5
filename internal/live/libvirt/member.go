package libvirt

import (
	"context"
	"fmt"
	"time"

	"plimsoll/internal/cluster"
	"plimsoll/internal/libvirt"
)

// uuid identifies a domain in all hosts.
type uuid = [16]byte

// member is a host of the cluster with its connection and its last reading.
type member struct {
	spec    *spec
	conn    *libvirt.Conn // nil while the daemon does not respond
	err     error         // why it does not
	retry   time.Time     // the next attempt
	pause   time.Duration
	known   bool   // it responded before
	uuid    string // of the host; empty before the first response
	host    cluster.Host
	vms     map[uuid]*domain
	dialing chan dialed // a connection attempt in progress
	notes   notes       // of the events of its connections
	wake    func()      // called on each event, and at the end of the connection
}

// domain is a domain of a host.
type domain struct {
	libvirt.Domain
	state  libvirt.State
	shape  shape
	fresh  bool // the shape is of this definition
	saved  bool // it has saved memory
	counts counters
}

// active reports whether a domain uses memory of its host.
func (d *domain) active() bool {
	return d.ID >= 0 && d.state != libvirt.Off && d.state != libvirt.Crashed
}

// tied reports whether a domain can run on this host only, as it is now.
func (d *domain) tied() bool {
	return d.shape.tied != "" || !d.active() && (d.saved || d.shape.resident)
}

// counters are the load of a domain as its daemon reports it.
type counters struct {
	at       time.Time
	busy     float64   // ns that vCPUs ran, or waited for a CPU of the host
	plain    float64   // ns that the domain ran, without waiting
	waits    bool      // busy is available
	resident int64     // bytes
	used     int64     // memory in use as the guest reports it; 0 if it does not
	dirty    int64     // bytes/s; 0 if not measured
	asked    time.Time // for the dirty rate
}

const (
	answerWithin = 10 * time.Second // timeout of a response
	// A daemon that has just started queries each hypervisor of its host before it responds.
	connectWithin = 30 * time.Second
	firstPause    = time.Second
	longestPause  = time.Minute
	assumedMHz    = 2000 // for a host without a value from its daemon or the list
)

// read reads the host. The daemon counts as lost if it does not respond in time.
func (m *member) read(ctx context.Context, f *file, now time.Time) {
	if m.conn == nil && !m.connect(ctx, f, now) {
		return
	}
	inner, cancel := context.WithTimeoutCause(ctx, answerWithin, fmt.Errorf("no answer within %v", answerWithin))
	defer cancel()
	switch err := m.inventory(inner, f); {
	case err == nil:
		m.err, m.pause, m.known = nil, 0, true
	case ctx.Err() == nil:
		m.drop()
		m.failed(err, now)
	}
}

// failed delays the next attempt.
func (m *member) failed(err error, now time.Time) {
	m.err = err
	m.pause = min(max(firstPause, 2*m.pause), longestPause)
	m.retry = now.Add(m.pause)
}

// drop closes the connection.
func (m *member) drop() {
	if m.conn != nil {
		_ = m.conn.Close() // the connection is given up
		m.conn = nil
	}
	if late := m.dialing; late != nil {
		m.dialing = nil
		go func() {
			if d := <-late; d.conn != nil {
				_ = d.conn.Close() // it is no longer needed
			}
		}()
	}
}

// dialed is the result of a connection attempt.
type dialed struct {
	conn *libvirt.Conn
	uuid string
	host cluster.Host
	err  error
}

// connect connects to the daemon, and reads the host's hardware. It waits for the first
// attempt; later ones run in the background.
func (m *member) connect(ctx context.Context, f *file, now time.Time) bool {
	wait := time.Second
	if m.dialing == nil {
		if now.Before(m.retry) {
			return false
		}
		if m.err == nil && !m.known {
			wait = connectWithin
		}
		m.dialing = make(chan dialed, 1)
		reach := libvirt.Dial
		if f.readOnly {
			reach = libvirt.DialReadOnly
		}
		go m.dial(context.WithoutCancel(ctx), reach, m.dialing)
	}
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	select {
	case <-ctx.Done():
		return false
	case d := <-m.dialing:
		m.dialing = nil
		if d.err != nil {
			m.failed(d.err, now)
			return false
		}
		if m.known {
			d.host.MHz = m.host.MHz // a daemon reports the current speed
		}
		m.conn, m.uuid, m.host = d.conn, d.uuid, m.spec.host(d.host)
		for _, d := range m.vms {
			d.fresh = false
		}
		return true
	}
}

// dial makes a connection attempt.
func (m *member) dial(ctx context.Context, reach func(context.Context, string) (*libvirt.Conn, error), into chan<- dialed) {
	ctx, cancel := context.WithTimeoutCause(ctx, connectWithin, fmt.Errorf("no answer within %v", connectWithin))
	defer cancel()
	var d dialed
	if d.conn, d.err = reach(ctx, m.spec.uri); d.err == nil {
		h := libvirt.Host{Conn: d.conn}
		if d.host, d.uuid, d.err = describe(ctx, h); d.err == nil {
			d.err = h.Listen(ctx, func(l libvirt.Lifecycle) {
				m.notes.take(l)
				m.wake()
			})
		}
		if d.err != nil {
			_ = d.conn.Close() // its result no longer matters
			d.conn = nil
		}
	}
	into <- d
	m.wake()
	if d.conn != nil {
		<-d.conn.Done()
		m.wake()
	}
}

const groups = libvirt.StateStatistics | libvirt.CPUStatistics | libvirt.BalloonStatistics | libvirt.VCPUStatistics | libvirt.DirtyRateStatistics

// inventory reads the domains and their counters.
func (m *member) inventory(ctx context.Context, f *file) error {
	list, err := m.conn.Domains(ctx)
	if err != nil {
		return err
	}
	h := libvirt.Host{Conn: m.conn}
	all, err := h.ActiveStatistics(ctx, groups)
	if err != nil {
		return err
	}
	saved := map[uuid]bool{}
	asleep, err := h.Saved(ctx)
	if err != nil {
		return err
	}
	for _, v := range asleep {
		saved[v.UUID] = true
	}
	at := time.Now()
	now := make(map[uuid]*domain, len(list))
	for _, v := range list {
		d := &domain{Domain: v, state: libvirt.Off, saved: saved[v.UUID]}
		if old := m.vms[v.UUID]; old != nil {
			d.shape, d.fresh, d.counts = old.shape, old.fresh && old.ID == v.ID && old.Name == v.Name, old.counts
		}
		if s, runs := all[v.Name]; runs && v.ID >= 0 {
			d.state = libvirt.State(s["state.state"])
			d.counts.read(s, at)
		}
		if m.notes.redefined(v.UUID) || !d.fresh {
			if err := m.learn(ctx, f, d); libvirt.Missing(err) {
				continue // it was deleted since
			} else if err != nil {
				return err
			}
		}
		now[v.UUID] = d
	}
	m.vms = now
	m.sample(ctx, h)
	return nil
}

// learn reads the XML of a domain.
func (m *member) learn(ctx context.Context, f *file, d *domain) error {
	text, err := m.conn.XML(ctx, d.Domain)
	if err != nil {
		return err
	}
	s, err := f.shapeOf(text)
	if err != nil {
		return fmt.Errorf("domain %s: %w", d.Name, err)
	}
	d.shape, d.fresh = s, true
	return nil
}

// read updates the counters of a domain. Values that a busy domain omits stay as they were.
func (c *counters) read(s libvirt.Statistics, at time.Time) {
	busy, waits := 0.0, false
	for i := 0; ; i++ {
		time, has := s[fmt.Sprintf("vcpu.%d.time", i)]
		if !has {
			break
		}
		delay, tells := s[fmt.Sprintf("vcpu.%d.delay", i)]
		busy, waits = busy+time+delay, waits || tells
	}
	if plain, has := s["cpu.time"]; has {
		c.at, c.plain, c.busy, c.waits = at, plain, busy, waits
	}
	if kib, has := s["balloon.rss"]; has {
		c.resident = kilobytes(kib)
	}
	if total, has := s["balloon.available"]; has {
		free, tells := s["balloon.usable"]
		if !tells {
			free = s["balloon.unused"]
		}
		c.used = kilobytes(max(0, total-free))
	}
	const measured = 2 // VIR_DOMAIN_DIRTYRATE_MEASURED
	if s["dirtyrate.calc_status"] == measured {
		c.dirty = kilobytes(s["dirtyrate.megabytes_per_second"] * 1024)
	}
}

func kilobytes(kib float64) int64 { return int64(min(max(kib, 0), 1<<40)) << 10 }

// sample makes the hypervisor measure missing or old dirty rates, of a few domains at a time.
func (m *member) sample(ctx context.Context, h libvirt.Host) {
	const atATime, seconds, again = 8, 1, 10 * time.Minute
	left := atATime
	for _, d := range m.vms {
		if left == 0 {
			return
		}
		if d.state != libvirt.Running || time.Since(d.counts.asked) < again {
			continue
		}
		left--
		d.counts.asked = time.Now()
		_ = h.MeasureDirtyRate(ctx, d.Domain, seconds) // without it, a default is assumed
	}
}
