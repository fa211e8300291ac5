package fabric

import "crypto/tls"

// Stream is a two-way byte stream between the lab and an agent: ordered, with flow
// control, and secured end to end. It survives a loss of connection shorter than the lease.
// Read and Write may be called concurrently, each by one caller.
type Stream struct {
	flow *flow
	conn *tls.Conn
	tell func(why string)
}

// Read reads data of the peer. At its end it returns io.EOF.
func (s *Stream) Read(p []byte) (int, error) { return s.conn.Read(p) }

// Write writes all of p, blocking while the window is full.
func (s *Stream) Write(p []byte) (int, error) { return s.conn.Write(p) }

// CloseWrite ends the data of this side; the peer then reads io.EOF.
func (s *Stream) CloseWrite() error {
	if err := s.conn.Handshake(); err != nil {
		return err
	}
	return s.conn.CloseWrite()
}

// Close ends both directions: bytes written before still arrive, bytes that arrive are
// dropped.
func (s *Stream) Close() error { return s.conn.Close() }

// Reset resets the stream on both sides, with the reason.
func (s *Stream) Reset(cause error) {
	s.tell(cause.Error())
	s.flow.broken(cause)
}
