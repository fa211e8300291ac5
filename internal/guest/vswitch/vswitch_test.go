package vswitch

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// station is the other side of a port. It keeps what arrives.
type station struct {
	conn net.Conn
	mu   sync.Mutex
	got  [][]byte
}

func (s *station) listen() {
	var head [prefix]byte
	for {
		if _, err := io.ReadFull(s.conn, head[:]); err != nil {
			return
		}
		frame := make([]byte, binary.BigEndian.Uint32(head[:]))
		if _, err := io.ReadFull(s.conn, frame); err != nil {
			return
		}
		s.mu.Lock()
		s.got = append(s.got, frame)
		s.mu.Unlock()
	}
}

// taken returns the frames received, and forgets them.
func (s *station) taken() [][]byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	got := s.got
	s.got = nil
	return got
}

func (s *station) send(frames ...[]byte) error {
	var b []byte
	for _, f := range frames {
		b = append(binary.BigEndian.AppendUint32(b, uint32(len(f))), f...)
	}
	_, err := s.conn.Write(b)
	return err
}

func plug(t testing.TB, s *Switch, name string) *station {
	t.Helper()
	here, there := net.Pipe()
	if _, err := s.Attach(name, there); err != nil {
		t.Fatal(err)
	}
	st := &station{conn: here}
	go st.listen()
	return st
}

const broadcast = address(0xffffffffffff)

func frame(to, from address, payload string) []byte {
	var b []byte
	for _, a := range []address{to, from} {
		b = append(b, byte(a>>40), byte(a>>32), byte(a>>24), byte(a>>16), byte(a>>8), byte(a))
	}
	return append(append(b, 0x88, 0xb5), payload...)
}

// oracle is a switch as simple as can be.
type oracle struct {
	at     map[address]int
	seen   map[address]time.Time
	ageing time.Duration
	limit  int
	live   map[int]bool
}

// to is the ports to which a frame is forwarded.
func (o *oracle) to(from int, destination, source address, now time.Time) (ports []int) {
	if source.group() || source == 0 {
		return nil
	}
	for a, at := range o.seen {
		if now.Sub(at) > o.ageing {
			delete(o.at, a)
			delete(o.seen, a)
		}
	}
	if _, known := o.at[source]; known || len(o.at) < o.limit {
		o.at[source], o.seen[source] = from, now
	}
	if p, known := o.at[destination]; known && !destination.group() {
		if p == from {
			return nil
		}
		return []int{p}
	}
	for p := range o.live {
		if p != from {
			ports = append(ports, p)
		}
	}
	slices.Sort(ports)
	return ports
}

// While ports come and go, each frame is forwarded to exactly the ports given by the oracle.
func TestFramesGoWhereTheOracleSays(t *testing.T) {
	for seed := range uint64(20) {
		synctest.Test(t, func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 1))
			ageing := 10 * time.Second
			s := New(Options{Ageing: ageing, Addresses: 12})
			o := &oracle{at: map[address]int{}, seen: map[address]time.Time{}, ageing: ageing, limit: 12, live: map[int]bool{}}
			stations := map[int]*station{}
			next := 0
			join := func() {
				stations[next] = plug(t, s, fmt.Sprint(next))
				o.live[next] = true
				next++
			}
			for range 3 {
				join()
			}
			for step := range 400 {
				live := slices.Sorted(func(yield func(int) bool) {
					for p := range stations {
						if !yield(p) {
							return
						}
					}
				})
				switch k := r.IntN(40); {
				case k == 0 && len(live) < 6:
					join()
					continue
				case k == 1 && len(live) > 2:
					p := live[r.IntN(len(live))]
					stations[p].conn.Close()
					synctest.Wait()
					delete(stations, p)
					delete(o.live, p)
					for a, at := range o.at {
						if at == p {
							delete(o.at, a)
							delete(o.seen, a)
						}
					}
					continue
				case k == 2:
					<-time.After(time.Duration(r.IntN(12)) * time.Second)
					continue
				}
				// Full tables are searched once a second, and sightings noted ten times a second.
				<-time.After(1001 * time.Millisecond)
				from := live[r.IntN(len(live))]
				source, destination := address(0x020000000000+r.Uint64N(16)), address(0x020000000000+r.Uint64N(16))
				switch r.IntN(12) {
				case 0:
					destination = broadcast
				case 1:
					destination = 0x01005e000001
				case 2:
					source = broadcast
				case 3:
					source = 0
				}
				f := frame(destination, source, strings.Repeat("x", r.IntN(100)))
				if r.IntN(20) == 0 {
					f = append(f, make([]byte, LongestFrame-len(f))...)
				}
				want := o.to(from, destination, source, time.Now())
				if err := stations[from].send(f); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				var got []int
				for p, st := range stations {
					for _, g := range st.taken() {
						got = append(got, p)
						if !bytes.Equal(g, f) {
							t.Fatalf("seed %d step %d: port %d got another frame than was sent", seed, step, p)
						}
					}
				}
				slices.Sort(got)
				if !slices.Equal(got, want) {
					t.Fatalf("seed %d step %d: %x from %x at %d went to %v, want %v", seed, step, destination, source, from, got, want)
				}
			}
			s.Close()
			synctest.Wait()
			if n := len(s.Ports()); n != 0 {
				t.Errorf("%d ports after the end", n)
			}
		})
	}
}

// With many senders, all frames arrive, in order for each pair, and the counters agree.
func TestOrderOfEachPair(t *testing.T) {
	const ports, frames = 5, 400
	s := New(Options{Queue: 64 << 20})
	all := make([]*station, ports)
	at := func(p int) address { return address(0x020000000000 + p) }
	for p := range all {
		all[p] = connect(t, s, fmt.Sprint(p))
		if err := all[p].send(frame(at(p), at(p), "here")); err != nil { // to itself: learned, and sent to nobody
			t.Fatal(err)
		}
	}
	until(t, func() bool { return s.addresses() == ports })
	var senders sync.WaitGroup
	for p := range all {
		senders.Go(func() {
			r := rand.New(rand.NewPCG(uint64(p), 2))
			for n := range frames {
				var burst [][]byte
				for q := range all {
					if q != p {
						burst = append(burst, frame(at(q), at(p), fmt.Sprintf("%6d", n)+strings.Repeat("y", r.IntN(1500))))
					}
				}
				if n%10 == 0 {
					burst = append(burst, frame(broadcast, at(p), fmt.Sprintf("%6d", n)))
				}
				if err := all[p].send(burst...); err != nil {
					t.Error(err)
				}
			}
		})
	}
	senders.Wait()
	const each = (ports - 1) * (frames + frames/10)
	for p, st := range all { // what one has sent is counted before the others have it
		until(t, func() bool { return s.Port(fmt.Sprint(p)).Counters().Sent == each })
		until(t, func() bool { st.mu.Lock(); defer st.mu.Unlock(); return len(st.got) == each })
	}
	for p, st := range all {
		last := map[[2]address]string{}
		for _, f := range st.taken() {
			pair := [2]address{addressAt(f), addressAt(f[6:])}
			if cmp.Compare(last[pair], string(f[14:20])) >= 0 {
				t.Fatalf("port %d: %q after %q from %x", p, f[14:20], last[pair], pair[1])
			}
			last[pair] = string(f[14:20])
		}
		c := s.Port(fmt.Sprint(p)).Counters()
		if want := uint64(1 + frames*(ports-1) + frames/10); c.Received != want || c.OwnSide != 1 || c.QueueFull+c.Gone+c.InvalidSource+c.Unlearned != 0 {
			t.Errorf("port %d counts %+v, want %d received, one for itself and no loss", p, c, want)
		}
	}
	s.Close()
}

// connect plugs a station in through a unix socket, as QEMU does.
func connect(t testing.TB, s *Switch, name string) *station {
	t.Helper()
	here := dialled(t, s, name)
	st := &station{conn: here}
	go st.listen()
	return st
}

func dialled(t testing.TB, s *Switch, name string) net.Conn {
	t.Helper()
	l, err := net.Listen("unix", filepath.Join(t.TempDir(), "port"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	here, err := net.Dial("unix", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	there, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Attach(name, there); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { here.Close() })
	return here
}

// addresses is the number of addresses in the table.
func (s *Switch) addresses() int {
	s.table.mu.RLock()
	defer s.table.mu.RUnlock()
	return len(s.table.at)
}

func until(t testing.TB, ready func() bool) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(20 * time.Second); !ready(); <-tick.C {
		if time.Now().After(deadline) {
			t.Fatal("what is waited for does not come")
		}
	}
}

// A port that does not read drops what its queue cannot hold, and others drop nothing.
func TestASlowPortHoldsNobodyUp(t *testing.T) {
	s := New(Options{Queue: 1})
	slow, fast, sender := dialled(t, s, "slow"), connect(t, s, "fast"), connect(t, s, "sender")
	const frames = 3000
	f := frame(broadcast, 0x020000000001, strings.Repeat("z", 1400))
	for n := range frames {
		if err := sender.send(f); err != nil {
			t.Fatal(err)
		}
		if n%16 == 0 {
			until(t, func() bool { return s.Port("fast").Counters().Sent >= uint64(n) })
		}
	}
	until(t, func() bool { return s.Port("fast").Counters().Sent == frames })
	until(t, func() bool { fast.mu.Lock(); defer fast.mu.Unlock(); return len(fast.got) == frames })
	full := s.Port("slow").Counters()
	if full.QueueFull == 0 || s.Port("fast").Counters().QueueFull != 0 {
		t.Errorf("slow lost %d and fast %d", full.QueueFull, s.Port("fast").Counters().QueueFull)
	}
	st := &station{conn: slow}
	go st.listen()
	until(t, func() bool {
		c := s.Port("slow").Counters()
		return c.Sent+c.QueueFull == frames
	})
	until(t, func() bool {
		st.mu.Lock()
		defer st.mu.Unlock()
		return len(st.got) == int(s.Port("slow").Counters().Sent)
	})
	s.Close()
}

func TestWhatIsNoFrameEndsItsPort(t *testing.T) {
	for name, test := range map[string]struct {
		bytes []byte
		says  string // empty: no error
	}{
		"short":  {[]byte{0, 0, 0, 13}, "port guest: a frame of 13 bytes"},
		"long":   {[]byte{0, 1, 0x10, 1}, "port guest: a frame of 69633 bytes"},
		"huge":   {[]byte{0xff, 0xff, 0xff, 0xff}, "port guest: a frame of 4294967295 bytes"},
		"cut":    {[]byte{0, 0, 0, 20, 1, 2, 3}, "port guest: the stream ended within a frame"},
		"prefix": {[]byte{0, 0}, "port guest: the stream ended within a frame"},
		"empty":  {nil, ""},
		"whole":  {append([]byte{0, 0, 0, 14}, frame(broadcast, 2, "")...), ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := New(Options{})
			other := connect(t, s, "other")
			here := dialled(t, s, "guest")
			p := s.Port("guest")
			if _, err := here.Write(test.bytes); err != nil {
				t.Fatal(err)
			}
			if name == "cut" || name == "prefix" || test.says == "" {
				here.Close()
			}
			err := p.Wait()
			if (err == nil) != (test.says == "") || err != nil && !strings.Contains(err.Error(), test.says) {
				t.Errorf("the port ended with %v, want %q", err, test.says)
			}
			if s.Port("guest") != nil || s.Port("other") == nil {
				t.Error("the port is still there, or took another with it")
			}
			if err := other.send(frame(broadcast, 4, "")); err != nil {
				t.Error(err)
			}
			until(t, func() bool { return s.Port("other").Counters().Alone == 1 })
			s.Close()
		})
	}
}

func TestNames(t *testing.T) {
	s := New(Options{})
	connect(t, s, "a")
	_, there := net.Pipe()
	if _, err := s.Attach("a", there); err == nil || !strings.Contains(err.Error(), "attach port a") {
		t.Errorf("a second a: %v", err)
	}
	s.Close()
	if _, err := s.Attach("b", there); err == nil || !strings.Contains(err.Error(), "closed") {
		t.Errorf("a port of a closed switch: %v", err)
	}
}

// Forged addresses fill the table without replacing learned ones.
func TestTheTableIsBounded(t *testing.T) {
	s := New(Options{Addresses: 100})
	liar, victim := connect(t, s, "liar"), connect(t, s, "victim")
	if err := victim.send(frame(2, 2, "")); err != nil {
		t.Fatal(err)
	}
	until(t, func() bool { return s.addresses() == 1 })
	for n := range 1000 {
		if err := liar.send(frame(2, address(0x040000000000+n), "")); err != nil {
			t.Fatal(err)
		}
	}
	until(t, func() bool { return s.Port("victim").Counters().Sent == 1000 })
	if n, lost := s.addresses(), s.Port("liar").Counters().Unlearned; n != 100 || lost != 901 {
		t.Errorf("%d addresses known, %d not learned", n, lost)
	}
	liar.conn.Close()
	until(t, func() bool { return s.addresses() == 1 })
	s.Close()
}

// In steady state no frame costs an allocation.
func TestNoAllocationForAFrame(t *testing.T) {
	s := New(Options{})
	from := &Port{name: "from", of: s, out: newQueue(s.queue)}
	to := &Port{name: "to", of: s, out: newQueue(s.queue)}
	s.ports.Store(&[]*Port{from, to})
	f := frame(4, 2, strings.Repeat("p", 1400))
	record := append(binary.BigEndian.AppendUint32(nil, uint32(len(f))), f...)
	back := append(binary.BigEndian.AppendUint32(nil, ShortestFrame), frame(broadcast, 4, "")...)
	var spare []byte
	step := func() {
		for range 10 {
			if _, err := from.deliver(record); err != nil {
				t.Fatal(err)
			}
			if _, err := to.deliver(back); err != nil {
				t.Fatal(err)
			}
		}
		spare, _ = to.out.take(spare)
		from.out.waiting, from.out.items = from.out.waiting[:0], 0
	}
	step()
	step()
	if n := testing.AllocsPerRun(100, step); n != 0 {
		t.Errorf("%g allocations for 20 frames", n)
	}
}

// For any input, a port ends by itself or with the stream, and the switch continues.
func FuzzStream(f *testing.F) {
	f.Add(append([]byte{0, 0, 0, 14}, frame(broadcast, 2, "")...), uint8(3))
	f.Add([]byte{0, 0, 0, 13, 1}, uint8(1))
	f.Add(append([]byte{0, 0, 0, 16}, frame(4, 2, "ab")...), uint8(0))
	f.Fuzz(func(t *testing.T, stream []byte, cut uint8) {
		s := New(Options{Addresses: 4})
		out := &Port{name: "out", of: s, out: newQueue(s.queue)}
		in := &Port{name: "in", of: s, out: newQueue(s.queue)}
		s.ports.Store(&[]*Port{in, out})
		// A stream split in two has the same result.
		used, err := in.deliver(stream)
		whole := bytes.Clone(out.out.waiting)
		if used > len(stream) || err == nil && len(stream)-used >= prefix+LongestFrame {
			t.Fatalf("%d of %d bytes used", used, len(stream))
		}
		out.out.waiting, out.out.items, s.table = nil, 0, newTable(4, time.Minute)
		half := min(int(cut), len(stream))
		first, err1 := in.deliver(stream[:half])
		if err1 == nil {
			_, err1 = in.deliver(stream[first:])
		}
		if (err == nil) != (err1 == nil) || !bytes.Equal(whole, out.out.waiting) {
			t.Fatalf("in two pieces the stream gives %x, %v; in one %x, %v", out.out.waiting, err1, whole, err)
		}
	})
}

// BenchmarkForward takes bursts of frames from one unix socket to another, or to all of several.
func BenchmarkForward(b *testing.B) {
	for _, test := range []struct {
		name string
		size int
		to   address
		more int // ports beside the two
	}{{"small", 64, 4, 0}, {"full", 1514, 4, 0}, {"segment", 65550, 4, 0}, {"flood8", 1514, broadcast, 7}} {
		b.Run(test.name, func(b *testing.B) {
			s := New(Options{Queue: 8 << 20})
			from, to := dialled(b, s, "from"), dialled(b, s, "to")
			go io.Copy(io.Discard, to) //nolint:errcheck // ends with the switch
			for n := range test.more {
				other := dialled(b, s, fmt.Sprint("other", n))
				go io.Copy(io.Discard, other) //nolint:errcheck // ends with the switch
			}
			if err := (&station{conn: to}).send(frame(4, 4, "")); err != nil {
				b.Fatal(err)
			}
			until(b, func() bool { return s.addresses() == 1 })
			f := frame(test.to, 2, strings.Repeat("b", test.size-ShortestFrame))
			burst := max(1, 32<<10/len(f))
			var record []byte
			for range burst {
				record = append(binary.BigEndian.AppendUint32(record, uint32(len(f))), f...)
			}
			b.SetBytes(int64(len(f)))
			b.ReportAllocs()
			b.ResetTimer()
			for n := 0; n < b.N; n += burst {
				if _, err := from.Write(record); err != nil {
					b.Fatal(err)
				}
			}
			sent := uint64((b.N + burst - 1) / burst * burst)
			until(b, func() bool {
				c := s.Port("to").Counters()
				return c.Sent+c.QueueFull >= sent
			})
			b.StopTimer()
			b.ReportMetric(float64(s.Port("to").Counters().QueueFull)/float64(sent), "lost/frame")
			s.Close()
		})
	}
}
