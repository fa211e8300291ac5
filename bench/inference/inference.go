// Package inference measures what the classifier takes for an image, against a loop over ONNX Runtime.
package inference

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"plimsoll/bench/measured"
	"plimsoll/internal/images"
	"plimsoll/internal/images/cifar"
	"plimsoll/internal/images/cifar/included"
	"plimsoll/internal/service/classifier"
)

const (
	turns  = 30 // short ones, as machines change their speed within seconds
	window = 32
)

// loop classifies all images for each line of input, and prints the CPU time of one in seconds.
const loop = `
import sys, time, numpy, onnxruntime
onnxruntime.set_default_logger_severity(3)
options = onnxruntime.SessionOptions()
options.intra_op_num_threads = options.inter_op_num_threads = 1
session = onnxruntime.InferenceSession(sys.argv[1], options, providers=["CPUExecutionProvider"])
data = numpy.fromfile(sys.argv[2], numpy.uint8).reshape(-1, 3073)
images = [row[1:].reshape(1, 32, 32, 3).astype(numpy.float32) for row in data]
name = session.get_inputs()[0].name
for image in images[:50]:
    session.run(None, {name: image})
print("ready", flush=True)
for _ in sys.stdin:
    begin = time.process_time()
    for image in images:
        session.run(None, {name: image})[0].argmax()
    print((time.process_time() - begin) / len(images), flush=True)
`

// Classifying has the model cnn classify raw images, one at a time on one CPU, in turns with the loop.
func Classifying() ([]measured.Result, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return nil, err
	}
	folder := classifier.Folder(cache)
	python, model := filepath.Join(folder, "bin", "python"), filepath.Join(folder, "cnn.onnx")
	if _, err := os.Stat(model); err != nil {
		return nil, errors.New("ONNX Runtime and the model cnn are missing: plimsoll service classifier fetch")
	}
	set, err := included.Images()
	if err != nil {
		return nil, err
	}
	program, dir, err := measured.Binary()
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	data := filepath.Join(dir, "images")
	if err := os.WriteFile(data, cifar.Marshal(set), 0o644); err != nil {
		return nil, err
	}
	address, end, err := start(program, map[string]any{"engine": "onnxruntime", "model": "cnn", "file": model, "python": python, "threads": 1, "batch": 1})
	if err != nil {
		return nil, err
	}
	defer end()
	peer, err := loopOver(python, model, data)
	if err != nil {
		return nil, err
	}
	defer peer.end()
	var ours, infer, rate, theirs []float64
	for range turns {
		o, err := classify(address, set)
		if err != nil {
			return nil, err
		}
		t, err := peer.turn()
		if err != nil {
			return nil, err
		}
		ours, infer, rate, theirs = append(ours, o.cpu), append(infer, o.infer), append(rate, 1/o.cpu), append(theirs, t)
	}
	return []measured.Result{
		{What: "model cnn, raw images: CPU of the classifier for one", Got: measured.Middle(ours), Against: "loop over ONNX Runtime", Limit: measured.Middle(theirs), Unit: "s"},
		{What: "the same: CPU of its engine", Got: measured.Middle(infer), Against: "loop over ONNX Runtime", Limit: measured.Middle(theirs), Unit: "s"},
		{What: "the same: images per second and core", Got: measured.Middle(rate), Against: "loop over ONNX Runtime", Limit: 1 / measured.Middle(theirs), Unit: "1/s"},
	}, nil
}

// looping is the process of a loop.
type looping struct {
	process *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Reader
}

func loopOver(python, model, data string) (*looping, error) {
	l := &looping{process: exec.Command(python, "-I", "-c", loop, model, data)}
	l.process.Stderr = os.Stderr
	out, err := l.process.StdoutPipe()
	if err == nil {
		l.in, err = l.process.StdinPipe()
	}
	if err == nil {
		err = l.process.Start()
	}
	if err != nil {
		return nil, fmt.Errorf("start the loop over ONNX Runtime: %w", err)
	}
	l.out = bufio.NewReader(out)
	if _, err := l.out.ReadString('\n'); err != nil {
		l.end()
		return nil, fmt.Errorf("start the loop over ONNX Runtime: %w", err)
	}
	return l, nil
}

// turn is the CPU time of an image in seconds.
func (l *looping) turn() (float64, error) {
	_, err := l.in.Write([]byte("\n"))
	var line string
	if err == nil {
		line, err = l.out.ReadString('\n')
	}
	if err != nil {
		return 0, fmt.Errorf("the loop over ONNX Runtime: %w", err)
	}
	return strconv.ParseFloat(strings.TrimSpace(line), 64)
}

func (l *looping) end() {
	_ = l.in.Close()
	_ = l.process.Wait()
}

// start runs a classifier until end.
func start(program string, order map[string]any) (address string, end func(), err error) {
	in, err := json.Marshal(order)
	if err != nil {
		return "", nil, err
	}
	c := exec.Command(program, classifier.Command)
	c.Stdin, c.Stderr = strings.NewReader(string(in)), os.Stderr
	out, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		return "", nil, err
	}
	end = func() {
		_ = c.Process.Kill()
		_ = c.Wait()
	}
	var greeting struct{ Address string }
	if err := json.NewDecoder(out).Decode(&greeting); err != nil {
		end()
		return "", nil, fmt.Errorf("start the classifier: %w", err)
	}
	return greeting.Address, end, nil
}

// taken is the CPU time of the classifier for an image.
type taken struct{ cpu, infer float64 }

// classify sends all images some times, and reads what the server took.
func classify(address string, set []images.Image) (t taken, err error) {
	before, err := counts(address)
	if err != nil {
		return t, err
	}
	if err := talk(address, set); err != nil {
		return t, err
	}
	after, err := counts(address)
	n := after["classifier.images"] - before["classifier.images"]
	if err == nil && n != float64(len(set)) {
		err = fmt.Errorf("the classifier counts %g images", n)
	}
	per := func(name string) float64 { return (after[name] - before[name]) / n }
	return taken{per("classifier.cpu"), per("classifier.infer.cpu")}, err
}

func dial(address string, h images.Hello) (net.Conn, *bufio.Reader, error) {
	conn, err := net.Dial("tcp", address)
	if err != nil {
		return nil, nil, err
	}
	err = conn.SetDeadline(time.Now().Add(time.Minute))
	if err == nil {
		_, err = conn.Write(h.Line())
	}
	return conn, bufio.NewReader(conn), err
}

func counts(address string) (all map[string]float64, err error) {
	conn, in, err := dial(address, images.Hello{Ask: images.Counts})
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	return all, json.NewDecoder(in).Decode(&all)
}

// talk keeps two halves of the window on their way, and sends and reads a half at a time: the wake-ups of a
// client for each answer would be a cost of the server.
func talk(address string, set []images.Image) error {
	conn, in, err := dial(address, images.Hello{Encoding: images.Raw})
	if err != nil {
		return err
	}
	defer conn.Close()
	if _, err := in.ReadString('\n'); err != nil {
		return err
	}
	encoder, err := images.NewEncoder(images.Raw, images.Pixels, set)
	if err != nil {
		return err
	}
	halves := slices.Collect(slices.Chunk(indices(len(set)), window/2))
	send := func(k int) error {
		var data []byte
		for _, i := range halves[k] {
			data = encoder.Append(data, i)
		}
		_, err := conn.Write(data)
		return err
	}
	if err := send(0); err != nil {
		return err
	}
	for k, half := range halves {
		if k+1 < len(halves) {
			if err := send(k + 1); err != nil {
				return err
			}
		}
		answers := make([]byte, answerSize*len(half))
		if err := readWhole(conn, answers); err != nil {
			return err
		}
		for i := range half {
			if a := answers[answerSize*i:][:answerSize]; a[0] < '0' || a[0] > '9' || a[1] != '\n' {
				return fmt.Errorf("image %d is answered with %q", half[i], a)
			}
		}
	}
	return nil
}

const answerSize = 2 // a digit and the end of a line

// readWhole reads all of b. The kernel does not wake it before the rest of it is there.
func readWhole(conn net.Conn, b []byte) error {
	raw, err := conn.(*net.TCPConn).SyscallConn()
	for n := 0; err == nil && len(b) > 0; b = b[n:] {
		var failed error
		err = raw.Control(func(fd uintptr) {
			failed = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVLOWAT, len(b))
		})
		if err = errors.Join(err, failed); err == nil {
			n, err = conn.Read(b)
		}
	}
	return err
}

func indices(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return all
}
