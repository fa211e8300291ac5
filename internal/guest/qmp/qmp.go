// Package qmp is a client of QEMU's control socket (QMP: one JSON object per line).
package qmp

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"
)

// Monitor is a connection to a running QEMU. Several goroutines may use it.
type Monitor struct {
	conn io.ReadWriteCloser
	out  sync.Mutex // serialises writes of commands

	mu      sync.Mutex
	next    int
	pending map[int]chan answer
	events  []Event       // the most recent ones
	first   int           // number of events[0] since the start
	changed chan struct{} // closed at each event, and at the end
	err     error         // why the connection ended
	ended   chan struct{}
}

// Event is an asynchronous message of QEMU.
type Event struct {
	Name string
	Data json.RawMessage
	At   time.Time // by the host's clock
}

const (
	keptEvents = 256
	mostLine   = 4 << 20
)

type answer struct {
	result json.RawMessage
	err    error
}

// message is a line from QEMU: a greeting, an event, or the answer to a command.
type message struct {
	Greeting json.RawMessage `json:"QMP"`
	Event    string          `json:"event"`
	Data     json.RawMessage `json:"data"`
	Stamp    struct {
		Seconds      int64 `json:"seconds"`
		Microseconds int64 `json:"microseconds"`
	} `json:"timestamp"`
	ID     *int            `json:"id"`
	Return json.RawMessage `json:"return"`
	Error  *struct {
		Class string `json:"class"`
		Desc  string `json:"desc"`
	} `json:"error"`
}

// New takes over a connection: it waits for the greeting and negotiates capabilities. Closing
// the monitor closes the connection.
func New(ctx context.Context, conn io.ReadWriteCloser) (*Monitor, error) {
	m := &Monitor{conn: conn, pending: map[int]chan answer{}, changed: make(chan struct{}), ended: make(chan struct{})}
	greeted := make(chan struct{})
	go m.listen(greeted)
	select {
	case <-greeted:
	case <-m.ended:
		return nil, errors.Join(fmt.Errorf("wait for QEMU's greeting: %w", m.failure()), conn.Close())
	case <-ctx.Done():
		return nil, errors.Join(fmt.Errorf("wait for QEMU's greeting: %w", ctx.Err()), m.Close())
	}
	if err := m.Execute(ctx, "qmp_capabilities", nil, nil); err != nil {
		return nil, errors.Join(err, m.Close())
	}
	return m, nil
}

// Close closes the connection and waits for its reader.
func (m *Monitor) Close() error {
	err := m.conn.Close()
	<-m.ended
	return err
}

func (m *Monitor) listen(greeted chan struct{}) {
	lines := bufio.NewScanner(m.conn)
	lines.Buffer(nil, mostLine)
	var err error
	for err == nil && lines.Scan() {
		var msg message
		if err = json.Unmarshal(lines.Bytes(), &msg); err != nil {
			err = fmt.Errorf("QEMU sent %.80q, not a QMP message: %w", lines.Bytes(), err)
			break
		}
		if msg.Greeting != nil && greeted != nil {
			close(greeted)
			greeted = nil
		}
		m.take(msg)
	}
	if err == nil {
		err = lines.Err()
	}
	if err == nil {
		err = io.EOF
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.err = fmt.Errorf("the connection to QEMU has ended: %w", err)
	for id, c := range m.pending {
		delete(m.pending, id)
		c <- answer{err: m.err}
	}
	close(m.changed)
	close(m.ended)
}

func (m *Monitor) take(msg message) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case msg.Event != "":
		at := time.Unix(msg.Stamp.Seconds, msg.Stamp.Microseconds*1000)
		m.events = append(m.events, Event{msg.Event, msg.Data, at})
		if drop := len(m.events) - keptEvents; drop > 0 {
			m.events, m.first = m.events[drop:], m.first+drop
		}
		close(m.changed)
		m.changed = make(chan struct{})
	case msg.ID != nil:
		c := m.pending[*msg.ID]
		if c == nil {
			return
		}
		delete(m.pending, *msg.ID)
		a := answer{result: msg.Return}
		if msg.Error != nil {
			a.err = errors.New(msg.Error.Desc)
		}
		c <- a
	}
}

func (m *Monitor) failure() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.err
}

// Execute runs a command. Arguments and result are encoded by encoding/json; either may be
// nil.
func (m *Monitor) Execute(ctx context.Context, command string, arguments, result any) error {
	c := make(chan answer, 1)
	m.mu.Lock()
	if m.err != nil {
		defer m.mu.Unlock()
		return fmt.Errorf("QEMU command %s: %w", command, m.err)
	}
	id := m.next
	m.next++
	m.pending[id] = c
	m.mu.Unlock()
	defer m.forget(id)

	line, err := json.Marshal(struct {
		Execute   string `json:"execute"`
		Arguments any    `json:"arguments,omitempty"`
		ID        int    `json:"id"`
	}{command, arguments, id})
	if err != nil {
		return fmt.Errorf("QEMU command %s: %w", command, err)
	}
	m.out.Lock()
	_, err = m.conn.Write(append(line, '\n'))
	m.out.Unlock()
	if err != nil {
		return fmt.Errorf("QEMU command %s: %w", command, err)
	}
	select {
	case a := <-c:
		if a.err == nil && result != nil {
			a.err = json.Unmarshal(a.result, result)
		}
		if a.err != nil {
			return fmt.Errorf("QEMU command %s: %w", command, a.err)
		}
		return nil
	case <-ctx.Done():
		return fmt.Errorf("QEMU command %s: %w", command, ctx.Err())
	}
}

func (m *Monitor) forget(id int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.pending, id)
}

// Await returns the first event that matches, among those kept since a number or later ones.
// It also returns the number to continue from.
func (m *Monitor) Await(ctx context.Context, since int, match func(Event) bool) (Event, int, error) {
	for {
		m.mu.Lock()
		for i, e := range m.events {
			if m.first+i >= since && match(e) {
				defer m.mu.Unlock()
				return e, m.first + i + 1, nil
			}
		}
		since = max(since, m.first+len(m.events))
		changed, err := m.changed, m.err
		m.mu.Unlock()
		if err != nil {
			return Event{}, since, err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return Event{}, since, ctx.Err()
		}
	}
}

// Mark is the number of the next event.
func (m *Monitor) Mark() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.first + len(m.events)
}
