package routine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"time"

	"plimsoll/internal/load"
	"plimsoll/internal/load/tally"
)

// fresh opens a connection for each operation of its user.
type fresh struct {
	group  *group
	home   int // number of the address that it is due at
	dialer *dialer
}

func (f *fresh) begin(context.Context)          {}
func (f *fresh) ready() (bool, <-chan struct{}) { return true, nil }
func (f *fresh) close()                         {}

func (f *fresh) perform(ctx context.Context, _ *user, o offer) bool {
	d := f.group
	f.dialer = d.dialers[d.job.Redirected(f.home)]
	d.mu.Lock()
	due, started := d.start(o)
	dialogue := d.job.Dialogue(d.number())
	request, class := dialogue.Request(nil, 0)
	d.mu.Unlock()
	a, ended, err := f.exchange(ctx, dialogue, request, started+d.job.Timeout)
	if ctx.Err() != nil {
		return false // under way when the load ended
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if err != nil {
		d.miss(class, err)
		return false
	}
	d.finish(tally.Operation{Class: class, Server: f.dialer.number, Due: due, Started: started, Bytes: a.Bytes}, a.Failed, ended)
	return true
}

// exchange sends a request on a new connection and returns the response and its time.
func (f *fresh) exchange(ctx context.Context, dialogue load.Dialogue, request []byte, deadline time.Duration) (load.Answer, time.Duration, error) {
	d, none := f.group, load.Answer{}
	conn, err := f.dialer.dial(ctx)
	if err != nil {
		return none, 0, err
	}
	defer conn.Close() //nolint:errcheck // the answer is there
	defer context.AfterFunc(ctx, (&wire{Conn: conn}).cut)()
	if err := conn.SetDeadline(time.Now().Add(deadline - d.clock.Now())); err != nil {
		return none, 0, fmt.Errorf("set a deadline: %w", err)
	}
	if _, err := conn.Write(request); err != nil {
		return none, 0, fmt.Errorf("write to %s: %w", f.dialer.address, err)
	}
	return f.answer(conn, dialogue)
}

func (f *fresh) answer(conn net.Conn, dialogue load.Dialogue) (load.Answer, time.Duration, error) {
	d := f.group
	for b, have := make([]byte, leastRead), 0; ; {
		if have == len(b) {
			if have >= mostRead {
				return load.Answer{}, 0, fmt.Errorf("%s does not speak the protocol: unterminated response", f.dialer.address)
			}
			b = append(b, make([]byte, 3*have)...)
		}
		n, err := conn.Read(b[have:])
		now := d.clock.Now()
		have += n
		a, used, wrong := d.heard(dialogue, b[:have])
		switch {
		case wrong != nil:
			return a, now, fmt.Errorf("%s does not speak the protocol: %w", f.dialer.address, wrong)
		case a.Slot != load.NoSlot:
			return a, now, nil
		case errors.Is(err, io.EOF):
			return a, now, fmt.Errorf("%s closed a connection with operations in flight", f.dialer.address)
		case err != nil:
			return a, now, fmt.Errorf("read from %s: %w", f.dialer.address, err)
		}
		have = copy(b, b[used:have])
	}
}

// heard passes data to a dialogue up to the end of its one operation.
func (d *group) heard(dialogue load.Dialogue, data []byte) (a load.Answer, used int, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for used < len(data) {
		one, n, err := dialogue.Answer(data[used:])
		switch {
		case err != nil:
			return a, used, err
		case n == 0:
			return load.Answer{Slot: load.NoSlot}, used, nil
		case one.Slot != load.NoSlot && one.Slot != 0:
			return a, used, fmt.Errorf("response to operation %d, which is not in flight", one.Slot)
		case one.Slot == 0:
			return one, used + n, nil
		}
		used += n
	}
	return load.Answer{Slot: load.NoSlot}, used, nil
}

// miss counts an operation without a response.
func (d *group) miss(class int, err error) {
	d.note(err)
	if errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, context.DeadlineExceeded) {
		d.timeOut(class)
		return
	}
	d.fail(class)
}
