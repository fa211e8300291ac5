package fabric

import (
	"bufio"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// session is one side of a session of a lab and an agent, from the first frame to the end of
// the lease.
type session struct {
	id      sessionID
	flows   *flows
	secure  func(*flow) *tls.Conn
	control *tls.Conn
	lines   *bufio.Reader // of control
}

// newSession makes a side of a session; the agent opens it. Secure makes a flow a TLS
// connection that authenticates the other side.
func newSession(id sessionID, agent bool, publish func([]byte) error, secure func(*flow) *tls.Conn) *session {
	s := &session{id: id, secure: secure}
	var first *flow
	s.flows, first = newFlows(func(f frame) {
		f.session = id
		_ = publish(f.encode()) // losses are retransmitted
	}, agent)
	s.control = secure(first)
	s.lines = bufio.NewReader(s.control)
	return s
}

// stalled bounds the wait for the other side to read control messages.
const stalled = 10 * time.Second

// tell sends a control message.
func (s *session) tell(c control) error {
	text, err := json.Marshal(c)
	if err != nil || len(text) >= maxControl {
		return fmt.Errorf("a control message of %d bytes cannot be sent: %v", len(text), err)
	}
	if err := s.control.SetWriteDeadline(time.Now().Add(stalled)); err != nil {
		return err
	}
	_, err = s.control.Write(append(text, '\n'))
	return err
}

// hear waits for a control message.
func (s *session) hear() (c control, err error) {
	var line []byte
	for {
		part, err := s.lines.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case len(line) > maxControl:
			return c, fmt.Errorf("a control message is longer than %d bytes", maxControl)
		case err == nil:
			return c, decode(line, &c)
		case !errors.Is(err, bufio.ErrBufferFull):
			return c, err
		}
	}
}

// stream is a flow with TLS.
func (s *session) stream(f *flow) *Stream {
	return &Stream{flow: f, conn: s.secure(f), tell: func(why string) { _ = s.tell(control{Reset: &reset{Stream: f.id, Why: why}}) }}
}

// reset handles a reset by the other side.
func (s *session) reset(r reset) {
	if f := s.flows.find(r.Stream); f != nil && r.Stream != 0 {
		f.broken(fmt.Errorf("by the other side: %s", r.Why))
	}
}
