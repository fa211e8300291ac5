package vswitch

import (
	"slices"
	"sync"
	"sync/atomic"
)

const (
	// mostHeld is the number of bytes from which a gate reads no more frames, so that the VM has to wait.
	mostHeld = 64 << 20
	// mostRepeated is the number of bytes from which frames to the VM are not kept for its standby.
	mostRepeated = 4 << 20
)

// gate buffers the frames of a VM, and keeps those to it for its standby.
type gate struct {
	shut atomic.Bool // changed with the lock held

	most int // see mostHeld

	mu       sync.Mutex
	room     sync.Cond
	second   bool   // further connections are those of a standby
	held     []byte // frames of the VM after their lengths
	marked   int    // bytes of them that go with the next release
	repeated []byte // frames to the VM since the last release
	known    int    // bytes of them that the VM had at the last mark
}

// keep takes a record of a port, unless the gate is open. It waits while too much is held, and as long as the port is there.
func (g *gate) keep(p *Port, record []byte) bool {
	if !g.shut.Load() {
		return false
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	for g.shut.Load() && len(g.held) > g.most && !p.left.Load() {
		g.room.Wait()
	}
	if g.shut.Load() {
		g.held = append(g.held, record...)
		return true
	}
	return false
}

// repeat keeps a record for the VM. A network may lose frames, but who sent one waits long until it sends it again.
func (g *gate) repeat(record []byte) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.shut.Load() && len(g.repeated)+len(record) <= mostRepeated {
		g.repeated = append(g.repeated, record...)
	}
}

func (g *gate) ofStandby() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.second
}

// wake has ports look whether they still wait.
func (g *gate) wake() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.room.Broadcast()
}

// Second has connections that are made from now on be of a standby, which gets no frames before Switch.
func (p *Plug) Second() {
	p.gate.mu.Lock()
	defer p.gate.mu.Unlock()
	p.gate.second = true
}

// Mark has the next release forward the frames that the VM has sent, and buffers those that it sends later. The VM must be stopped.
func (p *Plug) Mark() {
	g := &p.gate
	g.mu.Lock()
	defer g.mu.Unlock()
	g.shut.Store(true)
	g.marked, g.known = len(g.held), len(g.repeated)
}

// Release forwards the frames that were marked.
func (p *Plug) Release() {
	g := &p.gate
	g.mu.Lock()
	out := g.let(g.marked)
	g.repeated, g.known = append(g.repeated[:0], g.repeated[g.known:]...), 0
	g.mu.Unlock()
	p.forward(out)
}

// Pass forwards all frames that are held, and all further ones at once. Further connections are those of the VM.
func (p *Plug) Pass() {
	g := &p.gate
	for more := true; more; {
		g.mu.Lock()
		out := g.let(len(g.held))
		if more = len(out) > 0; !more {
			g.second, g.repeated, g.known = false, nil, 0
			g.shut.Store(false)
			g.room.Broadcast()
		}
		g.mu.Unlock()
		p.forward(out) // without the lock: another gate may be on the way
	}
}

// let takes the first bytes of the frames that are held.
func (g *gate) let(n int) []byte {
	out := slices.Clone(g.held[:n])
	g.held, g.marked = append(g.held[:0], g.held[n:]...), max(0, g.marked-n)
	g.room.Broadcast()
	return out
}

// forward forwards frames of the VM.
func (p *Plug) forward(frames []byte) {
	if from := p.awake(); from != nil {
		from.forwardAll(frames)
	}
}

// Switch ends all connections but the newest, which is the VM's from then on. It discards the frames that are held, and repeats those that
// the VM got after the last mark that was released.
func (p *Plug) Switch() {
	all := p.ports()
	for _, port := range all[:max(0, len(all)-1)] {
		port.Close()
	}
	g := &p.gate
	g.mu.Lock()
	again := g.repeated
	g.held, g.marked, g.repeated, g.known = nil, 0, nil, 0
	g.mu.Unlock()
	for _, port := range p.ports() {
		port.asleep.Store(false)
		port.putAll(again)
	}
}

// awake is the connection of the VM.
func (p *Plug) awake() *Port {
	for _, port := range p.ports() {
		if !port.asleep.Load() {
			return port
		}
	}
	return nil
}
