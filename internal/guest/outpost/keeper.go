package outpost

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"plimsoll/internal/guest/pages"
)

// Command starts a keeper.
const Command = "outpost"

// Order is what a keeper keeps.
type Order struct {
	Binary string // of QEMU
	Args   []string
	Dir    string        // folder that the keeper makes and removes
	Memory int64         // of the guest, bytes
	Relays []string      // names of sockets in the folder that QEMU connects to
	Lease  time.Duration // QEMU is killed when no heartbeat has been answered for as long
}

// relayMonitor is the relay of the monitor.
const relayMonitor = "monitor"

// Socket is the path of the socket of a relay in a folder; far that of its end for the lab.
func Socket(dir, relay string) string { return filepath.Join(dir, relay+".sock") }

func far(dir, relay string) string { return filepath.Join(dir, relay+".lab.sock") }

func channelSocket(dir string) string { return filepath.Join(dir, "channel.sock") }
func devicesSocket(dir string) string { return filepath.Join(dir, "devices.sock") }

// keeper keeps a QEMU on this host.
type keeper struct {
	order   Order
	wire    *wire
	in      *bufio.Reader
	life    context.Context // of the keeper
	memory  *os.File
	devices *os.File
	process *process
	lease   *lease
	target  *pages.File // its memory, as a standby

	channel atomic.Pointer[channel] // nil until the lab opens it
	copy    *pages.Copy             // to the lab; nil unless that has a standby
}

// Serve keeps the QEMU that the lab orders until it has ended or the lab is gone.
func Serve(stop <-chan struct{}, in io.Reader, out io.Writer) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	k := &keeper{wire: &wire{out: out}, in: bufio.NewReaderSize(in, 1<<20), life: ctx}
	kind, payload, err := receive(k.in)
	if err == nil && kind != kindOrder {
		err = fmt.Errorf("frame %d instead of an order", kind)
	}
	if err == nil {
		err = json.Unmarshal(payload, &k.order)
	}
	if err != nil {
		return fmt.Errorf("read the order: %w", err)
	}
	if err := os.Mkdir(k.order.Dir, 0o700); err != nil {
		return fmt.Errorf("make a folder for the guest: %w", err)
	}
	return errors.Join(k.keep(stop), os.RemoveAll(k.order.Dir))
}

// keep has the guest run.
func (k *keeper) keep(stop <-chan struct{}) error {
	relays, err := k.listen()
	if err != nil {
		return err
	}
	defer relays.close()
	k.lease = newLease(k.order.Lease)
	if err := k.wire.send(kindReady); err != nil {
		return err
	}
	if kind, _, err := receive(k.in); err != nil || kind != kindBegin || k.lease.over() {
		return errors.Join(fmt.Errorf("the lab did not begin in time, with frame %d", kind), err)
	}
	if err := k.start(relays); err != nil {
		return err
	}
	defer k.close()
	heard, asked := make(chan error, 2), make(chan []byte, mostAsked)
	go func() { heard <- k.listenToLab(asked) }()
	go func() { heard <- k.answerAll(asked) }()
	beat := time.NewTicker(k.order.Lease / beats)
	defer beat.Stop()
	for {
		select {
		case <-k.process.ended:
			return k.wire.send(kindEnded, []byte(k.process.how()))
		case err := <-heard:
			return err
		case <-stop:
			return nil
		case <-beat.C:
			if k.lease.over() {
				return fmt.Errorf("the lease is over: the lab has answered no heartbeat for %s", k.order.Lease)
			}
			go func() { _ = k.wire.send(kindBeat, number(k.lease.next())) }() // a lost connection blocks it
		}
	}
}

// start starts QEMU.
func (k *keeper) start(relays *relays) (err error) {
	if k.memory, err = pages.NewMemory(k.order.Memory); err == nil {
		k.devices, err = pages.NewMemory(0)
	}
	if err != nil {
		return err
	}
	if k.target, err = pages.OpenFile(k.memory); err != nil {
		return err
	}
	monitor, err := relays.monitor()
	if err != nil {
		return err
	}
	k.process, err = launch(k.order, k.wire, monitor, k.memory, k.devices)
	if err = errors.Join(err, monitor.Close()); err != nil {
		return err
	}
	return k.wire.send(kindStarted, number(k.process.pid))
}

// close ends QEMU.
func (k *keeper) close() {
	k.process.kill()
	if k.copy != nil {
		_ = k.copy.Close() // it ends with the process
	}
}

// mostAsked is the number of questions that may wait: the lab asks one at a time, but for those that it gave up.
const mostAsked = 1024

// listenToLab obeys until the lab is gone. Questions are answered by another: a long answer must not keep beats from being heard.
func (k *keeper) listenToLab(asked chan<- []byte) error {
	defer close(asked)
	for {
		kind, payload, err := receive(k.in)
		if err != nil {
			return fmt.Errorf("listen to the lab: %w", err)
		}
		switch kind {
		case kindLease:
			n, _, err := take(payload)
			if err != nil {
				return err
			}
			k.lease.answered(n)
		case kindInput:
			if c := k.channel.Load(); c != nil {
				c.put(payload)
			}
		case kindPages:
			if err := eachPage(payload, k.target.Put); err != nil {
				return fmt.Errorf("copy memory: %w", err)
			}
		case kindAsk:
			select {
			case asked <- payload:
			default:
				return fmt.Errorf("the lab has asked more than %d questions at once", mostAsked)
			}
		default:
			return fmt.Errorf("frame %d is unknown", kind)
		}
	}
}

// answerAll answers one question after the other.
func (k *keeper) answerAll(asked <-chan []byte) error {
	for payload := range asked {
		if err := k.answer(payload); err != nil {
			return err
		}
	}
	return nil
}

// answer answers a question.
func (k *keeper) answer(payload []byte) error {
	id, rest, err := take(payload)
	if err != nil || len(rest) == 0 {
		return errors.Join(err, errors.New("a question without a verb"))
	}
	answer, err := k.do(verb(rest[0]), rest[1:])
	if err != nil {
		return k.wire.send(kindRefusal, number(id), []byte(err.Error()))
	}
	return k.wire.send(kindAnswer, number(id), answer)
}

func (k *keeper) do(v verb, argument []byte) (answer []byte, err error) {
	switch v {
	case verbChannel:
		var c *channel
		if c, err = openChannel(k.life, channelSocket(k.order.Dir), k.wire); err == nil {
			k.channel.Store(c)
		}
	case verbQuiet, verbDrain:
		c := k.channel.Load()
		switch {
		case c == nil:
			err = errors.New("the channel of the guest is not open")
		case v == verbQuiet:
			err = c.quiet()
		default:
			err = c.drain()
		}
	case verbTouched:
		var touched []int
		touched, _, err = k.target.Touched()
		answer = numbers(touched)
	case verbFlush: // they are there
	case verbTrack:
		answer, err = k.track(argument)
	case verbTake, verbCommit:
		answer, err = k.copied(v)
	case verbDevices:
		answer, err = io.ReadAll(io.NewSectionReader(k.devices, 0, math.MaxInt64))
	case verbFeed:
		err = k.feed(argument)
	case verbKill:
		k.process.kill()
	default:
		err = fmt.Errorf("verb %d is unknown", v)
	}
	return answer, err
}

// track begins to copy the memory to the lab. The answer is 1 where the kernel names the pages that changed.
func (k *keeper) track(argument []byte) ([]byte, error) {
	touched, err := parseNumbers(argument)
	if err != nil {
		return nil, err
	}
	to := &stream{wire: k.wire, size: k.order.Memory, touched: func() ([]int, error) { return touched, nil }, flushed: func() error { return nil }}
	if k.copy != nil {
		_ = k.copy.Close() // of a standby that has ended
	}
	if k.copy, err = pages.New(k.memory, to); err != nil {
		return nil, err
	}
	tracked, err := k.copy.Track(k.process.pid)
	if tracked {
		return number(1), err
	}
	return number(0), err
}

// copied takes pages that changed, or sends them.
func (k *keeper) copied(v verb) ([]byte, error) {
	if k.copy == nil {
		return nil, errors.New("the memory of the guest is not copied")
	}
	do := k.copy.Take
	if v == verbCommit {
		do = k.copy.Commit
	}
	n, err := do()
	return number(n), err
}

// feed gives QEMU, which waits for a migration, the state of its devices.
func (k *keeper) feed(state []byte) error {
	var d net.Dialer
	conn, err := d.DialContext(k.life, "unix", devicesSocket(k.order.Dir))
	if err != nil {
		return err
	}
	_, err = conn.Write(state)
	return errors.Join(err, conn.Close())
}
