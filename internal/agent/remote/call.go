package remote

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"
)

// call is a call on the lab's side.
type call struct {
	stdin  io.Reader
	stdout io.Writer
	stop   <-chan struct{}

	opened chan struct{} // of a tunnel: closed when the far side is connected
	ends   opened        // set before that

	link     *link         // with the fields below, set when the call begins
	patience time.Duration // of cancel

	id     uint32
	in     *inlet
	out    *outlet
	stderr []byte
	answer answer
	done   chan struct{} // closed when the answer is there or the connection has ended
	lost   error         // set if the connection ended first
}

// stdinDelay bounds the wait for a pending read of a call's standard input, which must not
// be read after the call.
const stdinDelay = 2 * time.Second

// do performs a call.
func (m *Machine) do(ctx context.Context, r request, k *call) (answer, error) {
	if err := ctx.Err(); err != nil {
		return answer{}, err
	}
	if err := m.begin(r, k); err != nil {
		return answer{}, fmt.Errorf("machine %s: %w", m.Name(), err)
	}
	release := context.AfterFunc(ctx, k.cancel)
	defer release()
	var tasks sync.WaitGroup
	if k.stop != nil {
		tasks.Go(k.passStop)
	}
	fed := make(chan struct{})
	go func() {
		defer close(fed)
		if k.stdin != nil {
			k.feed()
		}
	}()
	err := k.drain()
	<-k.done
	k.out.close(errors.New("the call has ended"))
	tasks.Wait()
	patience := time.NewTimer(stdinDelay)
	defer patience.Stop()
	select {
	case <-fed:
	case <-patience.C:
	}
	if k.lost != nil {
		return answer{}, fmt.Errorf("machine %s: the connection ended: %w", m.Name(), k.lost)
	}
	return k.answer, errors.Join(err, k.answer.Fault.err())
}

// callEnd is how long a cancelled call may go on. After that the connection is closed.
const callEnd = 30 * time.Second

// cancel ends a call by force, and the connection if the call does not end.
func (k *call) cancel() {
	_ = k.link.send(frame{kind: kindCancel, call: k.id})
	time.AfterFunc(k.patience, func() {
		select {
		case <-k.done:
		default:
			k.link.end(fmt.Errorf("the remote side did not end a call within %s of its cancellation", k.patience))
		}
	})
}

// bounded collects output up to a limit.
type bounded struct {
	data bytes.Buffer
	most int
}

// Write fails beyond the limit.
func (b *bounded) Write(p []byte) (int, error) {
	if b.data.Len()+len(p) > b.most {
		return 0, fmt.Errorf("the remote side sent more than %d MiB", b.most>>20)
	}
	return b.data.Write(p)
}

// begin sends the request. Call numbers ascend on the wire, so calls begin one at a time; the
// reader does not wait for that.
func (m *Machine) begin(r request, k *call) error {
	m.beginning.Lock()
	defer m.beginning.Unlock()
	if err := m.enter(k); err != nil {
		return err
	}
	err := m.link.sendJSON(kindCall, k.id, r)
	if err != nil {
		m.mu.Lock()
		defer m.mu.Unlock()
		delete(m.calls, k.id)
	}
	return err
}

// enter registers a call under a new number.
func (m *Machine) enter(k *call) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.link.ctx.Err() != nil {
		return fmt.Errorf("the connection ended: %w", context.Cause(m.link.ctx))
	}
	m.last++
	k.link, k.patience = m.link, m.patience
	k.id, k.done = m.last, make(chan struct{})
	k.in, k.out = newInlet(m.link.credit(k.id)), newOutlet(m.link.data(k.id))
	m.calls[k.id] = k
	return nil
}

// passStop forwards the request to stop.
func (k *call) passStop() {
	select {
	case <-k.done:
	case <-k.stop:
		_ = k.link.send(frame{kind: kindStop, call: k.id})
	}
}

// feed sends standard input. An error of its source ends the stream like EOF: the command
// decides what that means.
func (k *call) feed() {
	_, _ = io.Copy(onlyWriter{k.out}, k.stdin)
	select {
	case <-k.done:
	default:
		_ = k.link.send(frame{kind: kindEnd, call: k.id})
	}
}

// onlyWriter hides ReadFrom from io.Copy.
type onlyWriter struct{ io.Writer }

// drain writes the output of the far side until its stream has ended. If a write fails, the
// call is cancelled and the rest is dropped.
func (k *call) drain() error {
	w := k.stdout
	if w == nil {
		w = io.Discard
	}
	var failed error
	buf := make([]byte, chunk)
	for {
		n, err := k.in.Read(buf)
		if n > 0 && failed == nil {
			if _, failed = w.Write(buf[:n]); failed != nil {
				failed = fmt.Errorf("forward output: %w", failed)
				k.cancel()
			}
		}
		if err != nil {
			return failed
		}
	}
}

// live reads frames until the connection ends; then it fails the pending calls.
func (m *Machine) live() {
	err := m.link.live(m.take)
	m.mu.Lock()
	defer m.mu.Unlock()
	for id, k := range m.calls {
		delete(m.calls, id)
		k.lost = err
		k.in.close(err)
		k.out.close(err)
		close(k.done)
	}
	close(m.ended)
}

// take handles one frame.
func (m *Machine) take(f frame) error {
	switch f.kind {
	case kindBeat:
		return nil
	case kindHello:
		return errors.New("the remote side restarted")
	}
	k, last := m.find(f.call)
	if k == nil {
		if f.call <= last && f.kind == kindCredit {
			return nil // sent before the result arrived
		}
		return malformed("kind %d for call %d, which is not pending", f.kind, f.call)
	}
	switch f.kind {
	case kindData:
		return k.in.put(f.payload)
	case kindCredit:
		return k.out.grant(f.payload)
	case kindStderr:
		if len(k.stderr)+len(f.payload) > keptStderr {
			return malformed("more than %d bytes of standard error", keptStderr)
		}
		k.stderr = append(k.stderr, f.payload...)
	case kindOpen:
		return k.open(f)
	case kindEnd:
		if k.opened == nil {
			return malformed("call %d is no tunnel", f.call)
		}
		k.in.close(io.EOF)
	case kindResult:
		if err := decode(f, &k.answer); err != nil {
			return err
		}
		if k.opened != nil {
			k.over()
		}
		m.mu.Lock()
		delete(m.calls, f.call)
		m.mu.Unlock()
		k.in.close(io.EOF)
		close(k.done)
	default:
		return malformed("kind %d is not for the lab", f.kind)
	}
	return nil
}

func (m *Machine) find(id uint32) (k *call, last uint32) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.calls[id], m.last
}
