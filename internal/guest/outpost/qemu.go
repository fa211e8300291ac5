package outpost

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"time"

	"plimsoll/internal/guest/pages"
	"plimsoll/internal/platform"
)

// QEMU is a QEMU on another host. Its methods may be called concurrently.
type QEMU struct {
	host    *Host
	order   Order
	wire    *wire
	asked   questions
	monitor net.Conn
	pid     int

	ended chan struct{} // QEMU does not run any more
	stop  func()        // ends the keeper, and what is sent to it

	mu      sync.Mutex
	how     string
	begun   bool                    // the keeper may start QEMU
	exited  bool                    // the keeper has ended, and QEMU with it
	fenced  bool                    // no beat is answered any more
	beat    time.Time               // when the last beat came that was answered
	channel net.Conn                // ours of the pair whose other end is the lab's
	staged  func(page []byte) error // takes frames of pages; nil without a standby here
	held    connections
	ready   chan struct{}
	started chan struct{}
}

// Output gets what QEMU prints.
type Output struct{ Console, Complaints io.Writer }

// Dial connects to what is on this host.
type Dial func(ctx context.Context) (net.Conn, error)

// Start starts QEMU there. Relays are what it connects to on this host, by name. An error leaves nothing behind.
func (h *Host) Start(ctx context.Context, o Order, relays map[string]Dial, to Output) (*QEMU, error) {
	for name := range relays {
		o.Relays = append(o.Relays, name)
	}
	agent, err := h.Machine.Self(ctx)
	if err != nil {
		return nil, err
	}
	life, stop := context.WithCancel(context.WithoutCancel(ctx))
	lab, in := io.Pipe()
	q := &QEMU{
		host: h, order: o, wire: &wire{out: in}, ended: make(chan struct{}),
		beat: time.Now(), ready: make(chan struct{}), started: make(chan struct{}),
	}
	q.stop = func() {
		stop()
		_ = lab.CloseWithError(io.ErrClosedPipe)
	}
	out, keeper := io.Pipe()
	go func() {
		r, err := h.Machine.Run(life, platform.Command{Argv: []string{agent, Command}, Stdin: lab, Stdout: keeper})
		if err == nil && r.Exit != 0 {
			err = errors.New(strings.TrimSpace(string(r.Stderr)))
		}
		q.mu.Lock()
		q.exited = err == nil || r.Exit != 0 // and not out of reach
		q.mu.Unlock()
		_ = lab.CloseWithError(io.ErrClosedPipe) // of what is sent from now on
		if err == nil {
			err = errors.New("it ended")
		}
		_ = keeper.CloseWithError(err)
	}()
	go q.listen(bufio.NewReaderSize(out, 1<<20), to)
	if err := q.begin(ctx, relays); err != nil {
		q.Kill()
		return nil, fmt.Errorf("start QEMU on host %s: %w", h.Machine.Name(), err)
	}
	return q, nil
}

// begin gives the keeper its order and connects the relays.
func (q *QEMU) begin(ctx context.Context, relays map[string]Dial) error {
	order, err := json.Marshal(q.order)
	if err != nil {
		return err
	}
	if err := q.wire.send(kindOrder, order); err != nil {
		return errors.Join(err, q.Err())
	}
	if err := q.wait(ctx, q.ready); err != nil {
		return err
	}
	q.mu.Lock()
	q.beat, q.begun = time.Now(), true
	q.mu.Unlock()
	go q.watch()
	if q.monitor, err = q.host.Machine.Dial(ctx, "unix", far(q.order.Dir, relayMonitor)); err != nil {
		return err
	}
	q.held.add(q.monitor)
	for name, dial := range relays {
		here, err := dial(ctx)
		if err != nil {
			return err
		}
		there, err := q.host.Machine.Dial(ctx, "unix", far(q.order.Dir, name))
		if err != nil {
			return errors.Join(err, here.Close())
		}
		q.held.add(here, there)
		go join(here, there)
	}
	if err := q.wire.send(kindBegin); err != nil {
		return err
	}
	return q.wait(ctx, q.started)
}

// wait waits for what the keeper does next.
func (q *QEMU) wait(ctx context.Context, done <-chan struct{}) error {
	select {
	case <-done:
		return nil
	case <-q.ended:
		return q.Err()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// listen takes what the keeper sends.
func (q *QEMU) listen(in *bufio.Reader, to Output) {
	for {
		kind, payload, err := receive(in)
		if err == nil {
			err = q.take(kind, payload, to)
		}
		if err != nil {
			q.lost(err)
			return
		}
	}
}

// take takes a frame.
func (q *QEMU) take(kind kind, payload []byte, to Output) (err error) {
	switch kind {
	case kindReady:
		return once(q.ready)
	case kindStarted:
		pid, _, err := take(payload)
		if err != nil {
			return err
		}
		if q.pid == 0 {
			q.pid = pid // before others may read it
		}
		return once(q.started)
	case kindConsole:
		_, err = to.Console.Write(payload)
	case kindComplaint:
		_, err = to.Complaints.Write(payload)
	case kindOutput, kindClosed:
		q.mu.Lock()
		channel := q.channel
		q.mu.Unlock()
		if channel == nil {
			return nil
		}
		if kind == kindClosed {
			return channel.Close()
		}
		_, _ = channel.Write(payload) // the lab may have closed it
	case kindPages:
		q.mu.Lock()
		staged := q.staged
		q.mu.Unlock()
		if staged != nil {
			return staged(payload)
		}
	case kindBeat:
		q.extend(payload)
	case kindAnswer, kindRefusal:
		return q.asked.answered(kind, payload)
	case kindEnded:
		q.over(string(payload))
	default:
		return fmt.Errorf("frame %d is unknown", kind)
	}
	return err
}

// once closes a channel, which nobody else closes.
func once(c chan struct{}) error {
	select {
	case <-c:
		return errors.New("its keeper has said that already")
	default:
		close(c)
		return nil
	}
}

// extend answers a beat, unless QEMU is to end.
func (q *QEMU) extend(beat []byte) {
	q.mu.Lock()
	if !q.fenced {
		q.beat = time.Now()
	}
	fenced := q.fenced
	q.mu.Unlock()
	if !fenced {
		go func() { _ = q.wire.send(kindLease, beat) }() // pages may be on the way
	}
}

// expiry is when QEMU has ended for sure, if no further beat is answered.
func (q *QEMU) expiry() time.Time {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.beat.Add(q.order.Lease + q.order.Lease/grace)
}

// watch declares that QEMU has ended when its lease is over.
func (q *QEMU) watch() {
	for {
		timer := time.NewTimer(time.Until(q.expiry()))
		select {
		case <-q.ended:
		case now := <-timer.C:
			if now.Before(q.expiry()) {
				continue
			}
			q.over(fmt.Sprintf("host %s has not been heard for %s", q.host.Machine.Name(), q.order.Lease))
		}
		timer.Stop()
		return
	}
}

// lost is told that the keeper has ended, or is out of reach. The lease goes on in the second case.
func (q *QEMU) lost(err error) {
	q.mu.Lock()
	q.fenced = true
	if q.how == "" {
		q.how = fmt.Sprintf("the connection to its keeper on host %s ended: %v", q.host.Machine.Name(), err)
	}
	q.asked.end(q.how)
	exited, how := q.exited, q.how
	q.mu.Unlock()
	if exited {
		q.over(how)
	}
}

// over records that QEMU does not run any more.
func (q *QEMU) over(how string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	select {
	case <-q.ended:
		return
	default:
	}
	q.fenced = true
	if q.how == "" {
		q.how = how
	}
	q.stop() // a keeper that is stopped itself does not fence QEMU, but ends with it
	close(q.ended)
	q.asked.end(q.how)
	q.held.close()
}

// Monitor is the connection to QEMU's monitor.
func (q *QEMU) Monitor() net.Conn { return q.monitor }

// Host is the host that it is on.
func (q *QEMU) Host() *Host { return q.host }

// PID is its process there.
func (q *QEMU) PID() int { return q.pid }

// Ended is closed once QEMU does not run any more.
func (q *QEMU) Ended() <-chan struct{} { return q.ended }

// How says how it ended.
func (q *QEMU) How() string {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.how
}

// Err is nil while QEMU runs.
func (q *QEMU) Err() error {
	select {
	case <-q.ended:
		return errors.New(q.How())
	default:
		return nil
	}
}

// Kill kills QEMU, and returns when it does not run any more: if its host does not answer, when its lease is over.
func (q *QEMU) Kill() {
	q.mu.Lock()
	q.fenced = true
	if q.how == "" {
		q.how = "killed"
	}
	begun, how := q.begun, q.how
	q.mu.Unlock()
	if !begun {
		q.over(how)
		return
	}
	go func() { _, _ = q.ask(context.Background(), verbKill, nil) }() // the end is told
	<-q.ended
}

// Channel opens the control channel of the guest.
func (q *QEMU) Channel(ctx context.Context) (net.Conn, error) {
	ours, theirs, err := pair()
	if err != nil {
		return nil, err
	}
	q.held.add(ours)
	q.mu.Lock()
	q.channel = ours
	q.mu.Unlock()
	if _, err := q.ask(ctx, verbChannel, nil); err != nil {
		return nil, errors.Join(fmt.Errorf("open the channel of the guest: %w", err), ours.Close(), theirs.Close())
	}
	go func() {
		buffer := make([]byte, 64<<10)
		for {
			n, err := ours.Read(buffer)
			if n > 0 {
				err = errors.Join(err, q.wire.send(kindInput, buffer[:n]))
			}
			if err != nil {
				return
			}
		}
	}()
	return theirs, nil
}

// Quiet waits until the guest has read all that was sent to its channel.
func (q *QEMU) Quiet(ctx context.Context) error {
	_, err := q.ask(ctx, verbQuiet, nil)
	return err
}

// Drain returns when all that a stopped guest has sent by its channel is here.
func (q *QEMU) Drain(ctx context.Context) error {
	_, err := q.ask(ctx, verbDrain, nil)
	return err
}

// Devices is the state of the devices that QEMU wrote last.
func (q *QEMU) Devices(ctx context.Context) ([]byte, error) { return q.ask(ctx, verbDevices, nil) }

// Feed gives a QEMU that waits for a migration the state of its devices.
func (q *QEMU) Feed(ctx context.Context, state []byte) error {
	_, err := q.ask(ctx, verbFeed, state)
	return err
}

// Memory is the memory of a standby there.
func (q *QEMU) Memory(ctx context.Context) pages.Target {
	return &stream{
		wire: q.wire, size: q.order.Memory,
		touched: func() ([]int, error) {
			payload, err := q.ask(ctx, verbTouched, nil)
			if err != nil {
				return nil, err
			}
			return parseNumbers(payload)
		},
		flushed: func() error {
			_, err := q.ask(ctx, verbFlush, nil)
			return err
		},
	}
}
