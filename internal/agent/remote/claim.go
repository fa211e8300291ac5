package remote

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"plimsoll/internal/platform"
)

const (
	// mostClaim bounds a claim on the wire, in bytes.
	mostClaim = 1 << 20
	// mostName bounds the name of a run, mostPlace the location of its lab and results, in bytes.
	mostName, mostPlace = 64, 8 << 10
	// releaseTime is the time limit of the far side to restore settings and release a claim.
	releaseTime = 20 * time.Second
)

// claim is a platform.Claim on the wire. The far side has an undo log of its own.
type claim struct {
	Run   string   `json:"run"`
	Dir   string   `json:"dir"`
	Lab   string   `json:"lab"`
	Names []string `json:"names"`
}

// Claim claims settings of the far side's host until release is called or the connection ends. The far side then restores
// changed settings, and releases the claim once all are restored. A far side without restore, such as a guest that ends
// with the run, has no claims: release does nothing.
func (m *Machine) Claim(ctx context.Context, c platform.Claim) (release func(), err error) {
	if !m.far.Abilities.Claimer || len(c.Names) == 0 {
		return func() {}, nil
	}
	host, err := os.Hostname()
	if err != nil {
		return nil, fmt.Errorf("name of this machine: %w", err)
	}
	text, err := json.Marshal(claim{Run: c.Run, Dir: c.Dir, Lab: fmt.Sprintf("process %d on %s", os.Getpid(), host), Names: c.Names})
	if err != nil {
		return nil, fmt.Errorf("claim settings: %w", err)
	}
	if _, err := m.do(ctx, request{Method: methodClaim, Stdin: true}, &call{stdin: bytes.NewReader(text)}); err != nil {
		return nil, fmt.Errorf("machine %s: %w", m.Name(), err)
	}
	return func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTime)
		defer cancel()
		_, _ = m.do(ctx, request{Method: methodRelease, Name: []byte(c.Run)}, &call{}) // the claim ends with the connection
	}, nil
}

// claim handles a claim of the lab.
func (c *served) claim(x *session) error {
	text, err := io.ReadAll(io.LimitReader(c.in, mostClaim+1))
	if err != nil {
		return fmt.Errorf("receive a claim: %w", err)
	}
	if len(text) > mostClaim {
		return fmt.Errorf("a claim of more than %d bytes", mostClaim)
	}
	var of claim
	if err := json.Unmarshal(text, &of); err != nil {
		return fmt.Errorf("read a claim: %w", err)
	}
	if len(of.Run) > mostName || of.Lab == "" || len(of.Lab)+len(of.Dir) > mostPlace {
		return errors.New("a claim without the process of its lab, or with names that are too long")
	}
	claimer, ok := x.machine.(platform.Claimer)
	if !ok || x.restore == nil {
		return fmt.Errorf("machine %s does not support %q: %w", x.machine.Name(), c.request.Method, errors.ErrUnsupported)
	}
	return x.desk.take(c.ctx, claimer, platform.Claim{Run: of.Run, Dir: of.Dir, Lab: of.Lab, Names: of.Names})
}

// claims holds the claim of a lab on the far side, one at a time.
type claims struct {
	mu     sync.Mutex
	closed bool
	run    string
	free   func() // nil without a claim
}

func (d *claims) take(ctx context.Context, m platform.Claimer, c platform.Claim) (err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return errClosed
	}
	if d.free != nil {
		return fmt.Errorf("run %q has claimed settings over this connection already", d.run)
	}
	d.run = c.Run
	d.free, err = m.Claim(ctx, c)
	return err
}

// release releases the claim of a run once its settings are restored. Until then it lasts as long as the connection.
func (d *claims) release(ctx context.Context, run string, restore func(context.Context) error) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.free == nil || d.run != run {
		return fmt.Errorf("run %q has claimed no settings", run)
	}
	if err := restore(ctx); err != nil {
		return err
	}
	d.free()
	d.free = nil
	return nil
}

// close releases the claim at the end of the connection.
func (d *claims) close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed = true
	if d.free != nil {
		d.free()
	}
	d.free = nil
}
