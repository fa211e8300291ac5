package nbd

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// FilterCommand is the internal command that starts a filter process.
const FilterCommand = "nbd-filter"

// Data are in shared memory, in slots that messages refer to. Longer requests are split.
const (
	slotSize    = 64 << 10
	slots       = 64
	messageSize = 24
	sharedFile  = 3 // descriptor of the memory in the filter process
)

// message is a part of a request to a filter, or the answer, which has only slot and errno.
type message struct {
	slot, operation, errno uint16
	durable, keep          bool
	offset                 int64
	length                 uint32 // of the part; 0 for a flush
	carried                uint32 // bytes in the slot
}

func (m message) append(b []byte) []byte {
	b = binary.LittleEndian.AppendUint16(b, m.slot)
	b = binary.LittleEndian.AppendUint16(b, m.operation)
	b = binary.LittleEndian.AppendUint16(b, m.errno)
	flags := uint16(0)
	if m.durable {
		flags |= askFUA
	}
	if m.keep {
		flags |= askNoHole
	}
	b = binary.LittleEndian.AppendUint16(b, flags)
	b = binary.LittleEndian.AppendUint64(b, uint64(m.offset))
	b = binary.LittleEndian.AppendUint32(b, m.length)
	return binary.LittleEndian.AppendUint32(b, m.carried)
}

func parseMessage(b []byte) (m message, err error) {
	flags := binary.LittleEndian.Uint16(b[6:])
	m = message{
		slot: binary.LittleEndian.Uint16(b), operation: binary.LittleEndian.Uint16(b[2:]), errno: binary.LittleEndian.Uint16(b[4:]),
		durable: flags&askFUA != 0, keep: flags&askNoHole != 0,
		offset: int64(binary.LittleEndian.Uint64(b[8:])), length: binary.LittleEndian.Uint32(b[16:]), carried: binary.LittleEndian.Uint32(b[20:]),
	}
	if m.slot >= slots || m.carried > slotSize {
		return m, fmt.Errorf("a message about slot %d with %d bytes: there are %d slots of %d", m.slot, m.carried, slots, slotSize)
	}
	return m, nil
}

// Apart is a filter in another process. Each request makes the round trip, with its data.
type Apart struct {
	conn   io.ReadWriteCloser
	memory []byte
	free   chan uint16
	done   [slots]chan uint16 // errno of the slot's request
	gone   chan struct{}      // closed when the other process has ended

	mu   sync.Mutex // held to write
	kill func() error
	pid  int // of the other process

	mapped sync.RWMutex // held to use the memory
}

// startFiltering starts a filter process by argv, a program and FilterCommand. It ends on
// Close, and with this process.
func startFiltering(argv []string, filters ...string) (*Apart, error) {
	a, err := startApart(argv, filters)
	if err != nil {
		return nil, fmt.Errorf("start a process that filters I/O: %w", err)
	}
	return a, nil
}

func startApart(argv, filters []string) (*Apart, error) {
	fd, err := unix.MemfdCreate("plimsoll-filter", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("create shared memory: %w", err)
	}
	shared := os.NewFile(uintptr(fd), "shared memory")
	defer shared.Close()
	if err := shared.Truncate(slots * slotSize); err != nil {
		return nil, err
	}
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("create a socket pair: %w", err)
	}
	theirs := os.NewFile(uintptr(pair[1]), "socket")
	defer theirs.Close()
	if err := unix.SetNonblock(pair[0], true); err != nil {
		_ = unix.Close(pair[0])
		return nil, err
	}
	ours := os.NewFile(uintptr(pair[0]), "socket")
	memory, err := unix.Mmap(fd, 0, slots*slotSize, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		_ = ours.Close()
		return nil, fmt.Errorf("map shared memory: %w", err)
	}
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.ExtraFiles = theirs, theirs, os.Stderr, []*os.File{shared}
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	ended, err := run(cmd)
	if err != nil {
		return nil, errors.Join(err, ours.Close(), unix.Munmap(memory))
	}
	a := newApart(ours, memory)
	a.pid = cmd.Process.Pid
	a.kill = func() error {
		timer := time.AfterFunc(2*time.Second, func() { _ = cmd.Process.Kill() })
		defer timer.Stop()
		return errors.Join(<-ended, unix.Munmap(memory))
	}
	line, _ := json.Marshal(filters) // strings can always be marshalled
	if _, err := ours.Write(append(line, '\n')); err != nil {
		return nil, errors.Join(err, a.Close())
	}
	return a, nil
}

// run starts a process on a locked thread and keeps the thread: the kernel kills the process
// when that thread ends.
func run(cmd *exec.Cmd) (ended <-chan error, err error) {
	started, end := make(chan error, 1), make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			end <- cmd.Wait()
		}
	}()
	return end, <-started
}

func newApart(conn io.ReadWriteCloser, memory []byte) *Apart {
	a := &Apart{conn: conn, memory: memory, free: make(chan uint16, slots), gone: make(chan struct{}), kill: func() error { return nil }}
	for i := range a.done {
		a.done[i] = make(chan uint16, 1)
		a.free <- uint16(i)
	}
	go a.listen()
	return a
}

// listen dispatches the answers.
func (a *Apart) listen() {
	defer close(a.gone)
	in := bufio.NewReaderSize(a.conn, 64*messageSize)
	var b [messageSize]byte
	for {
		if _, err := io.ReadFull(in, b[:]); err != nil {
			return
		}
		m, err := parseMessage(b[:])
		if err != nil {
			return
		}
		select {
		case a.done[m.slot] <- m.errno:
		default:
			return // no client waits
		}
	}
}

// alive is the id of the other process, or 0 if it has ended.
func (a *Apart) alive() int {
	select {
	case <-a.gone:
		return 0
	default:
		return a.pid
	}
}

// Waits is true: it waits for the other process.
func (a *Apart) Waits() bool { return true }

// Filter sends the request to the other process. If that has ended, requests fail with
// ESHUTDOWN.
func (a *Apart) Filter(ctx context.Context, r *Request) error {
	if len(r.Data) == 0 {
		return a.piece(ctx, message{operation: uint16(r.Operation), durable: r.Durable, keep: r.Keep, offset: r.Offset, length: uint32(r.Length)}, nil)
	}
	for at := 0; at < len(r.Data); at += slotSize {
		data := r.Data[at:min(at+slotSize, len(r.Data))]
		n := uint32(len(data))
		m := message{operation: uint16(r.Operation), durable: r.Durable, keep: r.Keep, offset: r.Offset + int64(at), length: n, carried: n}
		if err := a.piece(ctx, m, data); err != nil {
			return err
		}
	}
	return nil
}

func (a *Apart) piece(ctx context.Context, m message, data []byte) error {
	select {
	case m.slot = <-a.free:
	case <-ctx.Done():
		return syscall.ESHUTDOWN
	case <-a.gone:
		return syscall.ESHUTDOWN
	}
	a.mapped.RLock()
	defer a.mapped.RUnlock()
	if a.memory == nil {
		return syscall.ESHUTDOWN
	}
	slot := a.memory[int(m.slot)*slotSize:]
	copy(slot, data)
	var room [messageSize]byte
	a.mu.Lock()
	_, err := a.conn.Write(m.append(room[:0]))
	a.mu.Unlock()
	if err != nil {
		return syscall.ESHUTDOWN
	}
	select {
	case errno := <-a.done[m.slot]:
		copy(data, slot)
		a.free <- m.slot
		if errno != 0 {
			return syscall.Errno(errno)
		}
		return nil
	case <-ctx.Done(): // the slot stays allocated, as the other process may still use it
	case <-a.gone:
	}
	return syscall.ESHUTDOWN
}

// Close ends the other process. Pending requests fail.
func (a *Apart) Close() error {
	err := a.conn.Close()
	<-a.gone
	a.mapped.Lock()
	defer a.mapped.Unlock()
	if a.memory == nil {
		return nil
	}
	a.memory = nil
	return errors.Join(err, a.kill())
}

// ServeFilter is the filter process: it reads a list of filters, as JSON on one line, followed
// by requests.
func ServeFilter(in io.Reader, out io.Writer) error {
	memory, err := unix.Mmap(sharedFile, 0, slots*slotSize, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return fmt.Errorf("map the memory of descriptor %d: %w: plimsoll starts this by itself", sharedFile, err)
	}
	return serveFilter(in, out, memory)
}

func serveFilter(from io.Reader, out io.Writer, memory []byte) error {
	in := bufio.NewReaderSize(from, 64<<10)
	line, err := in.ReadSlice('\n')
	if err != nil {
		return fmt.Errorf("read the filters: %w", err)
	}
	var names []string
	if err := json.Unmarshal(line, &names); err != nil {
		return fmt.Errorf("read the filters: %w", err)
	}
	chain := &filtered{}
	waits := false
	for _, name := range names {
		f, err := ParseFilter(name)
		if err != nil {
			return err
		}
		waits = waits || f.Waits()
		chain.filters = append(chain.filters, f)
	}
	answers := &answering{out: out}
	defer answers.working.Wait()
	var b [messageSize]byte
	for {
		if in.Buffered() < messageSize {
			if err := answers.flush(); err != nil {
				return err
			}
		}
		if _, err := io.ReadFull(in, b[:]); err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return fmt.Errorf("read a request: %w", err)
		}
		m, err := parseMessage(b[:])
		if err != nil {
			return err
		}
		do := func() {
			r := Request{Operation: Operation(m.operation), Offset: m.offset, Length: int64(m.length), Durable: m.durable, Keep: m.keep}
			r.Data = memory[int(m.slot)*slotSize:][:m.carried]
			answers.add(message{slot: m.slot, errno: uint16(number(chain.down(context.Background(), &r)))})
		}
		if !waits {
			do()
			continue
		}
		answers.working.Go(func() { do(); _ = answers.flush() }) // the reader sees any error
	}
}

// answering batches answers and writes them.
type answering struct {
	out     io.Writer
	working sync.WaitGroup
	mu      sync.Mutex
	ready   []byte
}

func (a *answering) add(m message) {
	a.mu.Lock()
	a.ready = m.append(a.ready)
	a.mu.Unlock()
}

func (a *answering) flush() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.ready) == 0 {
		return nil
	}
	_, err := a.out.Write(a.ready)
	a.ready = a.ready[:0]
	if err != nil {
		return fmt.Errorf("answer: %w", err)
	}
	return nil
}
