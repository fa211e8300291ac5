package router

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"
	"time"
)

// three are two namespaces on different sites and the clients on the first.
func three() Options {
	return Options{Socket: "socket", Bits: 24, Ports: []Port{
		{Name: "clients", Address: netip.MustParseAddr("198.18.0.1"), Device: "tun0", Site: 1},
		{Name: "a", Address: netip.MustParseAddr("198.18.0.2"), Device: "tun0", Site: 1, Namespace: "a"},
		{Name: "b", Address: netip.MustParseAddr("198.18.0.3"), Device: "tun0", Site: 2, Namespace: "b"},
	}}
}

const (
	clients = iota
	portA
	portB
)

// frameTo is a frame of so many bytes, of which the last say which it is.
func frameTo(o Options, to, size, number int) []byte {
	b := make([]byte, header+size)
	p := b[header:]
	p[0] = 0x45
	binary.BigEndian.PutUint16(p[2:], uint16(size))
	at := o.Ports[to].Address.As4()
	copy(p[16:], at[:])
	if size >= 24 {
		binary.BigEndian.PutUint32(p[size-4:], uint32(number))
	}
	return b
}

func numberOf(frame []byte) int { return int(binary.BigEndian.Uint32(frame[len(frame)-4:])) }

// delivery is a packet that was written.
type delivery struct {
	to, number int
	at         time.Duration
}

// clockwork is a shaper in virtual time.
type clockwork struct {
	*shaper
	options Options
	now     time.Duration
	got     []delivery
}

func newClockwork(o Options) *clockwork {
	c := &clockwork{options: o}
	c.shaper = newShaper(o, func(to int, frame []byte) error {
		c.got = append(c.got, delivery{to, numberOf(frame), c.now})
		return nil
	})
	return c
}

// until delivers what is due until a time.
func (c *clockwork) until(end time.Duration) {
	for !c.waiting.empty() && c.waiting.first() <= end {
		c.now = max(c.now, c.waiting.first())
		c.deliver(c.now)
	}
	c.now = end
}

func (c *clockwork) send(from, to, size, number int) {
	c.take(from, frameTo(c.options, to, size, number), c.now)
}

func TestLatencies(t *testing.T) {
	const ms = time.Millisecond
	o := three()
	o.Settings = Settings{Latency: 3 * ms, SiteLatency: 5 * ms}
	o.Ports = append(o.Ports, Port{Name: "c", Address: netip.MustParseAddr("198.18.0.4"), Site: 1, Namespace: "c"})
	for _, c := range []struct {
		from, to int
		want     time.Duration
	}{{portA, 3, 3 * ms}, {portA, portB, 8 * ms}, {portB, portA, 8 * ms}, {clients, portA, 0}, {clients, portB, 5 * ms}, {portB, clients, 5 * ms}} {
		w := newClockwork(o)
		w.now = 100 * ms
		w.send(c.from, c.to, 100, 1)
		w.until(time.Second)
		if want := []delivery{{c.to, 1, 100*ms + c.want}}; !slices.Equal(w.got, want) {
			t.Errorf("from %d to %d: %v, want %v", c.from, c.to, w.got, want)
		}
	}
}

// A link takes its packets one after the other, in each direction at its rate, and a packet on an idle way takes the time of one link.
func TestRates(t *testing.T) {
	const ms = time.Millisecond
	o := three()
	o.Ports = append(o.Ports, Port{Name: "c", Address: netip.MustParseAddr("198.18.0.4"), Site: 1, Namespace: "c"})
	o.Settings = Settings{Latency: 10 * ms, Rate: 1e6}
	w := newClockwork(o)
	w.send(portA, 3, 1000, 1) // 1 ms
	w.send(portA, 3, 2000, 2) // 2 ms
	w.send(3, portA, 1000, 3) // the other direction is free
	w.until(time.Second)
	if want := []delivery{{3, 1, 11 * ms}, {portA, 3, 11 * ms}, {3, 2, 13 * ms}}; !slices.Equal(w.got, want) {
		t.Errorf("got %v, want %v", w.got, want)
	}
	w = newClockwork(o)
	w.send(portA, 3, 1000, 1)
	w.send(portB, 3, 1000, 2) // both enter the link of c at the same time
	w.send(clients, portA, 1000, 3)
	w.until(time.Second)
	if want := []delivery{{portA, 3, 1 * ms}, {3, 1, 11 * ms}, {3, 2, 12 * ms}}; !slices.Equal(w.got, want) {
		t.Errorf("got %v, want %v", w.got, want)
	}
}

// Whatever happens to settings, packets of a pair stay in order, none is lost or doubled, and none is early.
func TestOrder(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 0))
		o := three()
		w := newClockwork(o)
		sent := map[[2]int][]int{} // by pair
		pair := map[int][2]int{}
		earliest := map[int]time.Duration{}
		for number := range 200 {
			if r.IntN(10) == 0 {
				w.settings.Store(&Settings{Latency: time.Duration(r.IntN(3)) * time.Millisecond, SiteLatency: time.Duration(r.IntN(2)) * time.Millisecond, Rate: int64(r.IntN(3)) * 100_000})
			}
			from, to := r.IntN(3), r.IntN(3)
			if from == to {
				continue
			}
			if r.IntN(2) == 0 {
				w.until(w.now + time.Duration(r.IntN(2000))*time.Microsecond)
			} else {
				w.now += time.Duration(r.IntN(2000)) * time.Microsecond // the thread comes late
			}
			set := w.settings.Load()
			size := 24 + r.IntN(1000)
			earliest[number] = w.now + set.latency(o.Ports[from], o.Ports[to]) + transmission(size, set.rate(o.Ports[from]))
			key := [2]int{from, to}
			sent[key], pair[number] = append(sent[key], number), key
			w.send(from, to, size, number)
		}
		w.until(w.now + time.Minute)
		got := map[[2]int][]int{}
		for _, d := range w.got {
			got[pair[d.number]] = append(got[pair[d.number]], d.number)
			if d.at < earliest[d.number] {
				t.Errorf("seed %d: packet %d was delivered at %v, which is before %v", seed, d.number, d.at, earliest[d.number])
			}
		}
		for key, numbers := range sent {
			if !slices.Equal(got[key], numbers) {
				t.Fatalf("seed %d: %v: sent %v, got %v", seed, key, numbers, got[key])
			}
		}
		for i := range w.links {
			if w.links[i].held != 0 {
				t.Fatalf("seed %d: %d bytes are held for nothing", seed, w.links[i].held)
			}
		}
	}
}

// A queue is bounded for each port, and what it drops is counted.
func TestFullQueue(t *testing.T) {
	o := three()
	o.Settings.Latency = time.Second
	w := newClockwork(o)
	const size = 60_000
	fits := queueLimit / sizeFor(header+size)
	for n := range fits + 5 {
		w.send(portA, portB, size, n)
	}
	w.send(portB, portA, size, 1000)
	w.until(time.Minute)
	if got := w.links[portA].full.Load(); got != 5 || len(w.got) != fits+1 {
		t.Errorf("dropped %d, delivered %d of %d", got, len(w.got), fits+6)
	}
	w.send(portA, portB, size, 0)
	w.until(2 * time.Minute)
	if len(w.got) != fits+2 || w.links[portA].full.Load() != 5 {
		t.Error("an empty queue takes nothing")
	}
}

func TestWhatIsNotForwarded(t *testing.T) {
	o := three()
	w := newClockwork(o)
	good := frameTo(o, portB, 100, 1)
	for name, change := range map[string]func([]byte) []byte{
		"IPv6":               func(b []byte) []byte { b[header] = 0x65; return b },
		"truncated":          func(b []byte) []byte { return b[:header+50] },
		"no header":          func(b []byte) []byte { return b[:header+19] },
		"nothing":            func([]byte) []byte { return nil },
		"long options":       func(b []byte) []byte { b[header] = 0x4f; return b[:header+30] },
		"short header":       func(b []byte) []byte { b[header] = 0x44; return b },
		"another network":    func(b []byte) []byte { b[header+16] = 10; return b },
		"to the port itself": func(b []byte) []byte { b[header+19] = 2; return b },
	} {
		before := w.links[portA].unknown.Load()
		w.take(portA, change(slices.Clone(good)), 0)
		if w.links[portA].unknown.Load() != before+1 || len(w.got) != 0 {
			t.Errorf("%s: forwarded", name)
		}
	}
	w.write = func(int, []byte) error { return errors.New("down") }
	w.take(portA, good, 0)
	if w.links[portB].refused.Load() != 1 || w.links[portB].sent.Load() != 0 {
		t.Error("a packet that a device refused counts as sent")
	}
}

func TestRefusedOptions(t *testing.T) {
	for want, change := range map[string]func(*Options){
		"1 ports: must be 2 to 256":                                      func(o *Options) { o.Ports = o.Ports[:1] },
		"port b has address 10.0.0.1, which is not one of 198.18.0.0/24": func(o *Options) { o.Ports[2].Address = netip.MustParseAddr("10.0.0.1") },
		"port b has address ::1, which is not one of 198.18.0.0/24":      func(o *Options) { o.Ports[2].Address = netip.MustParseAddr("::1") },
		"ports a and b share 198.18.0.2":                                 func(o *Options) { o.Ports[2].Address = o.Ports[1].Address },
		"ports a and a share a":                                          func(o *Options) { o.Ports[2].Name = "a" },
		"no socket for requests":                                         func(o *Options) { o.Socket = "" },
		"a latency of 2s: must be from 0s to 1s":                         func(o *Options) { o.Settings.SiteLatency = 2 * time.Second },
		"a latency of -1ns: must be from 0s to 1s":                       func(o *Options) { o.Settings.Latency = -1 },
		"a rate of -1: must be 0 or more bytes per second":               func(o *Options) { o.Settings.Rate = -1 },
	} {
		o := three()
		change(&o)
		if err := o.check(); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	if err := three().check(); err != nil {
		t.Error(err)
	}
}

// FuzzDestination feeds the parser of packets.
func FuzzDestination(f *testing.F) {
	o := three()
	f.Add(frameTo(o, portB, 100, 1)[header:])
	f.Add([]byte{0x60, 0, 0, 0})
	f.Add([]byte(nil))
	f.Fuzz(func(t *testing.T, packet []byte) {
		to, err := destination(packet)
		if err != nil {
			return
		}
		if len(packet) < 20 || packet[0]>>4 != 4 || int(binary.BigEndian.Uint16(packet[2:])) != len(packet) || fmt.Sprint(to[:]) != fmt.Sprint(packet[16:20]) {
			t.Errorf("%x is taken for a packet to %v", packet, to)
		}
	})
}

func BenchmarkTake(b *testing.B) {
	for _, latency := range []time.Duration{0, 5 * time.Millisecond} {
		b.Run(latency.String(), func(b *testing.B) {
			o := three()
			o.Settings.Latency = latency
			s := newShaper(o, func(int, []byte) error { return nil })
			frame := frameTo(o, portB, 1500, 1)
			now := time.Duration(0)
			b.ReportAllocs()
			for b.Loop() {
				now += 2 * time.Microsecond
				s.deliver(now)
				s.take(portA, frame, now)
			}
		})
	}
}
