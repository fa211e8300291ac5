package classifier

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"plimsoll/internal/images"
	"plimsoll/internal/service/classifier/onnx"
)

// engine computes the classes of frames, which are images that it gets and answers together.
type engine interface {
	depth(images int) int       // most frames, of this many images each, that it holds at a time
	submit(frame []*job) error  // begins with a frame, or keeps it until those before it are done
	collect(frame []*job) error // waits for the classes of the oldest frame
	usage
	close()
}

// usage is the CPU time of an engine.
type usage interface {
	cpu() time.Duration
	inside() bool // it is part of that of this process
}

// runtimeEngine is a process with ONNX Runtime.
type runtimeEngine struct {
	process *exec.Cmd
	in      io.Writer
	room    int // bytes that the pipe to it takes while nobody reads
	out     *bufio.Reader
	used    atomic.Int64 // CPU time in ns
	frame   []byte
	reply   []byte
	end     func() error // waits for its end, once
}

// newRuntime starts a process. It ends with the connection to it.
func newRuntime(ctx context.Context, o order, m model) (*runtimeEngine, error) {
	c := exec.Command(o.Python, "-I", "-c", engineScript)
	c.Stderr = os.Stderr
	p, err := connect(c)
	if err != nil {
		return nil, fmt.Errorf("start ONNX Runtime: %w", err)
	}
	e := &runtimeEngine{process: c, in: p.in, room: enlarge(p.in), out: bufio.NewReaderSize(p.out, 1<<16)}
	e.end = sync.OnceValue(func() error {
		p.close()
		defer time.AfterFunc(ending, func() { c.Process.Kill() }).Stop() //nolint:errcheck // it may have ended
		return c.Wait()
	})
	defer context.AfterFunc(ctx, func() { c.Process.Kill() })() //nolint:errcheck // it may have ended
	shape := []int{images.Side, images.Side, images.Depth}
	if m.layout == onnx.ColourPlanes {
		shape = []int{images.Depth, images.Side, images.Side}
	}
	if err := e.begin(m.data, shape, o.Batch); err != nil {
		e.close()
		return nil, fmt.Errorf("start ONNX Runtime with model %s: %w", m.name, err)
	}
	return e, nil
}

// pipes are the ends of those of a process.
type pipes struct {
	files   [2]*os.File
	in, out direct
}

func (p *pipes) close() {
	for _, f := range p.files {
		f.Close() //nolint:errcheck // the process ends then
	}
}

// connect starts a process with pipes.
func connect(c *exec.Cmd) (*pipes, error) {
	theirs, in, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer theirs.Close() //nolint:errcheck // the process has its own
	out, its, err := os.Pipe()
	if err != nil {
		in.Close() //nolint:errcheck // nobody uses it
		return nil, err
	}
	defer its.Close() //nolint:errcheck // the process has its own
	p := &pipes{files: [2]*os.File{in, out}}
	c.Stdin, c.Stdout = theirs, its
	if err = c.Start(); err == nil {
		p.in, err = newDirect(in)
	}
	if err == nil {
		p.out, err = newDirect(out)
	}
	if err != nil {
		p.close()
	}
	return p, err
}

// begin sends the model and waits until it is loaded.
func (e *runtimeEngine) begin(model []byte, shape []int, batch int) error {
	head, err := json.Marshal(map[string]any{"size": len(model), "shape": shape, "batch": batch})
	if err != nil {
		return err
	}
	if _, err = e.in.Write(append(append(head, '\n'), model...)); err == nil {
		_, err = e.out.ReadSlice('\n')
	}
	if err != nil {
		return e.death(err)
	}
	return nil
}

// ending is the time that a process has to end by itself.
const ending = 2 * time.Second

// death is why the process ended; it has written the reason to standard error.
func (e *runtimeEngine) death(err error) error {
	if ended := e.end(); ended != nil {
		err = ended
	}
	if errors.Is(err, io.EOF) {
		err = errors.New("the process ended")
	}
	return err
}

func (e *runtimeEngine) cpu() time.Duration { return time.Duration(e.used.Load()) }
func (e *runtimeEngine) inside() bool       { return false }

// ahead is how many frames the process holds, so that it never waits for the next one: sleep and
// wake-up between two images cost it a tenth of its CPU time.
const ahead = 2

const numbersSize = 4 * images.Numbers // bytes of an image

// depth implements engine: a frame is only sent ahead where the pipe takes it at once.
func (e *runtimeEngine) depth(images int) int {
	if images*numbersSize > e.room/ahead {
		return 1
	}
	return ahead
}

func (e *runtimeEngine) submit(frame []*job) error {
	e.frame = binary.LittleEndian.AppendUint32(e.frame[:0], uint32(len(frame)))
	for _, j := range frame {
		e.frame = append(e.frame, asBytes(j.numbers)...)
	}
	if _, err := e.in.Write(e.frame); err != nil {
		return e.death(err)
	}
	return nil
}

func (e *runtimeEngine) collect(frame []*job) error {
	const timed = 8 // bytes of the CPU time in front of the classes
	if cap(e.reply) < timed+len(frame) {
		e.reply = make([]byte, timed+len(frame))
	}
	reply := e.reply[:timed+len(frame)]
	if _, err := io.ReadFull(e.out, reply); err != nil {
		return e.death(err)
	}
	e.used.Store(int64(math.Float64frombits(binary.LittleEndian.Uint64(reply)) * 1e9))
	for i, j := range frame {
		if j.class = reply[timed+i]; j.class >= images.Classes {
			return fmt.Errorf("class %d", j.class)
		}
	}
	return nil
}

// asBytes is the memory of numbers. Both ends of a pipe have the same order of bytes, which the
// process takes for little-endian, as on all systems that have ONNX Runtime.
func asBytes(numbers []float32) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(&numbers[0])), 4*len(numbers))
}

func (e *runtimeEngine) close() {
	e.process.Process.Kill() //nolint:errcheck // it may have ended
	e.end()                  //nolint:errcheck // it was killed
}

// ownEngine computes in this process.
type ownEngine struct {
	network *onnx.Network
	clock   clock
	used    atomic.Int64 // CPU time in ns
}

func newOwn(m model) (*ownEngine, error) {
	n, err := m.network()
	if err != nil {
		return nil, err
	}
	return &ownEngine{network: n}, nil
}

func (e *ownEngine) cpu() time.Duration { return time.Duration(e.used.Load()) }
func (e *ownEngine) inside() bool       { return true }
func (e *ownEngine) close()             {}

func (e *ownEngine) depth(int) int       { return 1 }
func (e *ownEngine) submit([]*job) error { return nil }

func (e *ownEngine) collect(frame []*job) error {
	begin := e.clock.now()
	for _, j := range frame {
		j.class = byte(e.network.Classify(j.numbers))
	}
	e.used.Add(int64(e.clock.now() - begin))
	return nil
}
