package fabric

import (
	"bytes"
	"crypto/ecdh"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
)

// version of the fabric's messages. The other side must have the same.
const version = 1

// envelope is a signed message of the handshake.
type envelope struct {
	Body      []byte `json:"body"`
	Signature []byte `json:"signature"`
}

// hello opens a session. It is signed with the agent's key.
type hello struct {
	Version   int    `json:"version"`
	Agent     string `json:"agent"` // its public key
	Ephemeral []byte `json:"ephemeral"`
}

// welcome answers it. It is signed with the lab's key. With Gone set, it says
// instead that the lab knows nothing of a session.
type welcome struct {
	Version   int           `json:"version"`
	Lab       string        `json:"lab"`             // its public key
	Agent     string        `json:"agent"`           // whom it is for
	Hello     []byte        `json:"hello,omitempty"` // digest of what it answers
	Ephemeral []byte        `json:"ephemeral,omitempty"`
	Session   sessionID     `json:"session"`
	Lease     time.Duration `json:"lease,omitempty"`
	Gone      bool          `json:"gone,omitempty"`
	Refused   string        `json:"refused,omitempty"`
}

// session is what both sides hold after the handshake.
type session struct {
	id    sessionID
	out   *sealer
	in    *opener
	lease time.Duration
}

// courtship is the agent's side of a handshake under way.
type courtship struct {
	own  *ecdh.PrivateKey
	body []byte
	sent []byte // the message to publish
}

func newCourtship(key *Key) (*courtship, error) {
	own, err := ecdh.X25519().GenerateKey(rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make a key for a session: %w", err)
	}
	body, sent, err := enclose(key, "hello", hello{Version: version, Agent: key.Public(), Ephemeral: own.PublicKey().Bytes()})
	if err != nil {
		return nil, err
	}
	return &courtship{own: own, body: body, sent: sent}, nil
}

// accept makes the session of a welcome, which must answer this hello.
func (c *courtship) accept(w welcome, body []byte) (*session, error) {
	if w.Gone || !bytes.Equal(w.Hello, digestOf(c.body)) {
		return nil, errSeal
	}
	if w.Refused != "" {
		return nil, fmt.Errorf("%w (%s)", ErrRefused, w.Refused)
	}
	s := secret{own: c.own, peer: w.Ephemeral, transcript: transcript(c.body, body), id: w.Session}
	fromAgent, fromLab, err := s.derive()
	if err != nil {
		return nil, err
	}
	return &session{id: w.Session, out: &sealer{id: w.Session, aead: fromAgent}, in: &opener{id: w.Session, aead: fromLab}, lease: w.Lease}, nil
}

// receive is the lab's side: it answers a hello whose signature was checked, and
// grants a lease.
func receive(key *Key, h hello, body []byte, lease time.Duration) (s *session, answer []byte, err error) {
	own, err := ecdh.X25519().GenerateKey(rand.Reader)
	if err != nil {
		return nil, nil, fmt.Errorf("make a key for a session: %w", err)
	}
	w := welcome{Version: version, Lab: key.Public(), Agent: h.Agent, Hello: digestOf(body), Ephemeral: own.PublicKey().Bytes(), Lease: lease}
	if _, err := rand.Read(w.Session[:]); err != nil {
		return nil, nil, fmt.Errorf("name a session: %w", err)
	}
	text, answer, err := enclose(key, "welcome", w)
	if err != nil {
		return nil, nil, err
	}
	fromAgent, fromLab, err := secret{own: own, peer: h.Ephemeral, transcript: transcript(body, text), id: w.Session}.derive()
	if err != nil {
		return nil, nil, err
	}
	return &session{id: w.Session, out: &sealer{id: w.Session, aead: fromLab}, in: &opener{id: w.Session, aead: fromAgent}}, answer, nil
}

func transcript(hello, welcome []byte) []byte { return append(digestOf(hello), digestOf(welcome)...) }

func digestOf(body []byte) []byte {
	d := sha256.Sum256(body)
	return d[:]
}

// enclose signs a message for one purpose: what was signed for another does not
// pass.
func enclose(key *Key, purpose string, message any) (body, sent []byte, err error) {
	if body, err = json.Marshal(message); err != nil {
		return nil, nil, fmt.Errorf("encode %s: %w", purpose, err)
	}
	signature, err := key.sign(purposed(purpose, body))
	if err != nil {
		return nil, nil, fmt.Errorf("sign %s: %w", purpose, err)
	}
	sent, err = json.Marshal(envelope{Body: body, Signature: signature})
	return body, sent, err
}

func purposed(purpose string, body []byte) []byte {
	return append([]byte("plimsoll fabric "+purpose+"\x00"), body...)
}

// disclose decodes a hello and checks its signature.
func disclose(data []byte) (h hello, body []byte, err error) {
	var e envelope
	if err := decode(data, &e); err != nil {
		return h, nil, err
	}
	if err := decode(e.Body, &h); err != nil {
		return h, nil, err
	}
	if !signed(h.Agent, purposed("hello", e.Body), e.Signature) {
		return h, nil, errors.New("the signature of a hello is not its agent's")
	}
	return h, e.Body, nil
}

// discloseWelcome decodes a welcome for an agent and checks that the lab signed
// it: the lab whose public key was pinned, or any if none was.
func discloseWelcome(data []byte, agent, pinned string) (w welcome, body []byte, err error) {
	var e envelope
	if err := decode(data, &e); err != nil {
		return w, nil, err
	}
	if err := decode(e.Body, &w); err != nil {
		return w, nil, err
	}
	switch {
	case !signed(w.Lab, purposed("welcome", e.Body), e.Signature):
		return w, nil, errors.New("the signature of a welcome is not its lab's")
	case w.Agent != agent:
		return w, nil, errors.New("a welcome for another agent")
	case pinned != "" && w.Lab != pinned:
		return w, nil, fmt.Errorf("a lab with another key answers: %s", w.Lab)
	}
	return w, e.Body, nil
}

// decode reads one JSON value that is not too long and has no unknown field.
func decode(data []byte, into any) error {
	if len(data) > maxControl {
		return fmt.Errorf("a message of %d bytes is longer than %d", len(data), maxControl)
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return fmt.Errorf("decode a message: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("decode a message: more follows its end")
	}
	return nil
}

// control is a sealed message between lab and agent. One field is set.
type control struct {
	Join    *join    `json:"join,omitempty"`    // agent: completes the handshake
	Renew   *renew   `json:"renew,omitempty"`   // agent
	Renewed *renewed `json:"renewed,omitempty"` // lab
	Start   *order   `json:"start,omitempty"`   // lab
	Started *started `json:"started,omitempty"` // agent
	Trouble string   `json:"trouble,omitempty"` // agent: what its owner should know
	Leave   string   `json:"leave,omitempty"`   // agent or lab: why
}

type join struct {
	Name   string            `json:"name"`
	Labels map[string]string `json:"labels,omitempty"`
	Facts  Facts             `json:"facts"`
	Spool  string            `json:"spool,omitempty"` // names its spool; empty without one
	First  uint64            `json:"first,omitempty"` // number of the first record that no lab has acknowledged
}

// renew asks for a longer lease and is one half of a round trip. Times are in
// nanoseconds since 1970 on the sender's clock.
type renew struct {
	Sent   int64 `json:"sent"`
	Known  bool  `json:"known,omitempty"` // whether the offset is
	Offset int64 `json:"offset,omitempty"`
	Error  int64 `json:"error,omitempty"`
}

type renewed struct {
	Sent     int64         `json:"sent"` // of the renew that it answers
	Seen     int64         `json:"seen"`
	Answered int64         `json:"answered"`
	Lease    time.Duration `json:"lease"`
}

// order tells an agent to start at an instant of the lab's clock.
type order struct {
	ID   uint64          `json:"id"`
	At   int64           `json:"at"`
	What json.RawMessage `json:"what,omitempty"`
}

// started tells when an agent did start, on the lab's clock as it knows it.
type started struct {
	ID    uint64 `json:"id"`
	At    int64  `json:"at"`
	Error int64  `json:"error"` // bound on the error of At
	Fault string `json:"fault,omitempty"`
}
