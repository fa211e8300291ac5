package fabric

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
)

// version of the fabric's messages, which both sides must share
const version = 2

// control is a message between lab and agent. One field is set.
type control struct {
	Join    *join    `json:"join,omitempty"`    // agent: the first message
	Welcome *welcome `json:"welcome,omitempty"` // lab: the answer
	Refused string   `json:"refused,omitempty"` // lab: the other answer
	Renew   *renew   `json:"renew,omitempty"`   // agent
	Renewed *renewed `json:"renewed,omitempty"` // lab
	Reset   *reset   `json:"reset,omitempty"`   // either
	Leave   string   `json:"leave,omitempty"`   // either: why
}

type join struct {
	Version int               `json:"version"`
	Name    string            `json:"name"`
	Labels  map[string]string `json:"labels,omitempty"`
	Facts   Facts             `json:"facts"`
}

type welcome struct {
	Lease time.Duration `json:"lease"`
}

// renew requests a longer lease and is one half of a round trip. Times are in nanoseconds
// since 1970 on the sender's clock.
type renew struct {
	Sent   int64 `json:"sent"`
	Known  bool  `json:"known,omitempty"` // whether the offset is known
	Offset int64 `json:"offset,omitempty"`
	Error  int64 `json:"error,omitempty"`
}

type renewed struct {
	Sent     int64         `json:"sent"` // of the renew that it answers
	Seen     int64         `json:"seen"`
	Answered int64         `json:"answered"`
	Lease    time.Duration `json:"lease"`
}

// reset aborts a stream.
type reset struct {
	Stream uint32 `json:"stream"`
	Why    string `json:"why"`
}

// decode reads one JSON value without unknown fields.
func decode(data []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return fmt.Errorf("decode a control message: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("decode a control message: trailing data")
	}
	return nil
}
