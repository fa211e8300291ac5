// Package networks measures what the router between network namespaces costs, against a veth pair between the same two and their loopback.
package networks

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"plimsoll/bench/measured"
	"plimsoll/internal/router"
)

const (
	turns   = 5
	stream  = 1 << 28 // bytes of a turn
	write   = 1 << 20 // bytes of a write
	trips   = 2000    // round trips of a turn
	latency = 5 * time.Millisecond
)

// way is a network between two namespaces.
type way struct {
	name     string
	from, to string // namespaces
	address  string

	cpu, own, rate, trip []float64 // of turns: CPU per GB of all and of the router, bytes per second, seconds of a round trip
}

// Router has a stream of bytes and round trips of one byte pass the router, a veth pair and the loopback, in turns.
func Router() (all []measured.Result, err error) {
	if os.Getuid() != 0 {
		return nil, errors.New("network namespaces require root")
	}
	dir, err := os.MkdirTemp("", "plimsoll-bench-*")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	o := router.Options{Socket: filepath.Join(dir, "socket"), Bits: 24}
	for i, name := range []string{"a", "b"} {
		o.Ports = append(o.Ports, router.Port{Name: name, Address: netip.AddrFrom4([4]byte{198, 18, 0, byte(i + 1)}), Device: "tun0", Namespace: filepath.Join(dir, name)})
	}
	end, err := start(o)
	if err != nil {
		return nil, err
	}
	defer end()
	a, b := o.Ports[0].Namespace, o.Ports[1].Namespace
	if err := cable(a, b); err != nil {
		return nil, err
	}
	ways := []*way{{name: "router", from: a, to: b, address: "198.18.0.2"}, {name: "veth", from: a, to: b, address: "198.19.0.2"}, {name: "loopback", from: a, to: a, address: "127.0.0.1"}}
	for range turns {
		for _, w := range ways {
			if err := w.turn(o.Socket); err != nil {
				return nil, fmt.Errorf("%s: %w", w.name, err)
			}
		}
	}
	middle := measured.Middle
	own := ways[0]
	for _, w := range ways[1:] {
		all = append(all,
			measured.Result{What: "stream of 1 MiB writes over the router: CPU of ends and network for 1 GB", Got: middle(own.cpu), Against: w.name, Limit: middle(w.cpu), Unit: "s"},
			measured.Result{What: "the same: time for 1 GB", Got: 1e9 / middle(own.rate), Against: w.name, Limit: 1e9 / middle(w.rate), Unit: "s"},
			measured.Result{What: "round trip of one byte over the router", Got: 1e6 * middle(own.trip), Against: w.name, Limit: 1e6 * middle(w.trip), Unit: "us"})
	}
	beyond, err := late(o.Socket)
	return append(all,
		measured.Result{What: "stream: CPU of the router alone for 1 GB", Got: middle(own.own), Against: "ends and network", Limit: middle(own.cpu), Unit: "s"},
		measured.Result{What: fmt.Sprintf("round trip at a latency of %v, beyond %v", latency, 2*latency), Got: beyond * 1e6, Against: "limit", Limit: 300, Unit: "us"}), err
}

// start starts this program as the router.
func start(o router.Options) (end func(), err error) {
	order, err := json.Marshal(o)
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(os.Args[0], router.Command)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return nil, fmt.Errorf("start a router: %w", err)
	}
	end = func() { _, _ = cmd.Process.Kill(), cmd.Wait() }
	if _, err = in.Write(order); err == nil {
		err = in.Close()
	}
	if err == nil {
		_, err = bufio.NewReader(out).ReadString('\n')
	}
	if err != nil {
		end()
		return nil, fmt.Errorf("start a router: %w", err)
	}
	return end, nil
}

// cable connects two namespaces by a veth pair.
func cable(a, b string) error {
	enter := func(space string, argv ...string) error {
		out, err := exec.Command("nsenter", append([]string{"--net=" + space}, argv...)...).CombinedOutput()
		if err != nil {
			return fmt.Errorf("%q: %w: %s", argv, err, out)
		}
		return nil
	}
	return errors.Join(
		enter(a, "ip", "link", "add", "eth0", "type", "veth", "peer", "name", "eth0", "netns", b),
		enter(a, "ip", "addr", "add", "198.19.0.1/24", "dev", "eth0"), enter(b, "ip", "addr", "add", "198.19.0.2/24", "dev", "eth0"),
		enter(a, "ip", "link", "set", "eth0", "up"), enter(b, "ip", "link", "set", "eth0", "up"),
	)
}

// within runs f on a thread in a namespace.
func within(space string, f func() error) error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlock: the thread ends with its namespace
		file, err := os.Open(space)
		if err == nil {
			defer file.Close()
			err = unix.Setns(int(file.Fd()), unix.CLONE_NEWNET)
		}
		if err == nil {
			err = f()
		}
		done <- err
	}()
	return <-done
}

// connect is a TCP connection over the way.
func (w *way) connect() (near, far net.Conn, err error) {
	var l net.Listener
	if err = within(w.to, func() (err error) {
		l, err = net.Listen("tcp4", w.address+":0")
		return err
	}); err != nil {
		return nil, nil, err
	}
	defer l.Close()
	if err = within(w.from, func() (err error) {
		near, err = net.DialTimeout("tcp4", l.Addr().String(), 10*time.Second)
		return err
	}); err != nil {
		return nil, nil, err
	}
	if far, err = l.Accept(); err != nil {
		near.Close()
	}
	return near, far, err
}

// turn measures a stream, and then round trips.
func (w *way) turn(socket string) error {
	near, far, err := w.connect()
	if err != nil {
		return err
	}
	defer near.Close()
	defer far.Close()
	before, own, err := used(socket)
	if err != nil {
		return err
	}
	began := time.Now()
	sent := make(chan error, 1)
	go func() {
		data := make([]byte, write)
		for range stream / write {
			if _, err := near.Write(data); err != nil {
				sent <- err
				return
			}
		}
		sent <- nil
	}()
	buffer := make([]byte, write)
	for left := stream; left > 0; {
		n, err := far.Read(buffer)
		if err != nil {
			return err
		}
		left -= n
	}
	if err := <-sent; err != nil {
		return err
	}
	took := time.Since(began).Seconds()
	after, router, err := used(socket)
	if err != nil {
		return err
	}
	const giga = stream / 1e9
	w.cpu, w.own, w.rate = append(w.cpu, (after-before+router-own)/giga), append(w.own, (router-own)/giga), append(w.rate, stream/took)
	return w.bounce(near, far)
}

// bounce measures round trips of one byte.
func (w *way) bounce(near, far net.Conn) error {
	go func() { _, _ = io.Copy(far, far) }()
	var took []float64
	b := []byte("x")
	for range trips {
		began := time.Now()
		if _, err := near.Write(b); err != nil {
			return err
		}
		if _, err := io.ReadFull(near, b); err != nil {
			return err
		}
		took = append(took, time.Since(began).Seconds())
	}
	w.trip = append(w.trip, measured.Middle(took))
	return nil
}

// used is the CPU time of this process, which has both ends, and of the router, in seconds.
func used(socket string) (ends, own float64, err error) {
	if ends, err = measured.Work(); err != nil {
		return 0, 0, err
	}
	s, err := ask(socket, router.Request{})
	return ends, s.CPU.Seconds(), err
}

func ask(socket string, q router.Request) (router.State, error) {
	conn, err := net.Dial("unix", socket)
	if err != nil {
		return router.State{}, err
	}
	defer conn.Close()
	return router.Ask(conn, q)
}

// late is by how much round trips at a latency take longer than that: the median of the router's own measurements, in seconds.
func late(socket string) (float64, error) {
	var all []float64
	for range 5 * turns {
		s, err := ask(socket, router.Request{Set: &router.Settings{Latency: latency}, Pings: [][2]string{{"a", "b"}}})
		if err != nil {
			return 0, err
		}
		all = append(all, (s.Pings[0] - 2*latency).Seconds())
	}
	slices.Sort(all)
	return measured.Middle(all), nil
}
