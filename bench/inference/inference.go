// Package inference measures what the classifier takes for an image, against a loop over ONNX Runtime.
package inference

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"plimsoll/bench/measured"
	"plimsoll/internal/images"
	"plimsoll/internal/images/cifar"
	"plimsoll/internal/images/cifar/included"
	"plimsoll/internal/service/classifier"
)

const (
	turns  = 5
	passes = 4 // over the images, in a turn
	window = 16
)

// loop classifies images, and prints the CPU time of one in seconds.
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
begin = time.process_time()
for _ in range(int(sys.argv[3])):
    for image in images:
        session.run(None, {name: image})[0].argmax()
print((time.process_time() - begin) / int(sys.argv[3]) / len(images))
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
	var ours, infer, rate, theirs []float64
	for range turns {
		o, err := classify(address, set)
		if err != nil {
			return nil, err
		}
		out, err := exec.Command(python, "-I", "-c", loop, model, data, strconv.Itoa(passes)).CombinedOutput()
		if err != nil {
			return nil, fmt.Errorf("the loop over ONNX Runtime: %w: %s", err, out)
		}
		t, err := strconv.ParseFloat(strings.TrimSpace(string(out)), 64)
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
	if err == nil && n != float64(passes*len(set)) {
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
	sent := 0
	for read := 0; read < passes*len(set); read++ {
		for ; sent < min(read+window, passes*len(set)); sent++ {
			if _, err := conn.Write(encoder.Append(nil, sent%len(set))); err != nil {
				return err
			}
		}
		line, err := in.ReadString('\n')
		if err == nil && len(line) != 2 {
			err = fmt.Errorf("image %d is answered with %q", read, line)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
