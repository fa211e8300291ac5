package iotimages

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"plimsoll/internal/images"
	"plimsoll/internal/images/cifar"
	"plimsoll/internal/images/cifar/included"
	"plimsoll/internal/load"
	"plimsoll/internal/load/loadtest"
	"plimsoll/internal/measure"
	"plimsoll/internal/parameter"
	"plimsoll/internal/platform"
	"plimsoll/internal/platforms/local"
	"plimsoll/internal/service/classifier"
	"plimsoll/internal/workload"
)

// TestMain is also the classifier, which is a process of its own.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == classifier.Command {
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
		err := classifier.Serve(ctx, os.Stdin, os.Stdout)
		stop()
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(3)
		}
		os.Exit(0)
	}
	loadtest.Parallel(4)
	os.Exit(m.Run())
}

func here(t *testing.T) platform.Machine {
	t.Helper()
	p, err := local.Kind().Open(t.Context(), nil, 1)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p.Machine()
}

// colours starts a classifier with a model that computes next to nothing, and returns its address.
func colours(t *testing.T) string {
	t.Helper()
	setting, err := classifier.Setting("testdata/colours.onnx")
	if err != nil {
		t.Fatal(err)
	}
	file, _, _ := strings.Cut(setting, "@")
	return started(t, fmt.Sprintf(`{"engine":"go","model":%q,"file":%q,"threads":1,"batch":1}`, setting, file))
}

// classifying starts a classifier with the model that comes with plimsoll, and returns its address.
func classifying(t *testing.T) string {
	t.Helper()
	return started(t, `{"engine":"go","model":"small","threads":1,"batch":1}`)
}

func started(t *testing.T, order string) string {
	t.Helper()
	c := exec.Command(os.Args[0], classifier.Command)
	c.Stdin = strings.NewReader(order)
	c.Stderr = os.Stderr
	said, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.Process.Kill()
		c.Wait()
	})
	var greeting struct {
		Address string `json:"address"`
	}
	if err := json.NewDecoder(said).Decode(&greeting); err != nil {
		t.Fatal(err)
	}
	return greeting.Address
}

// at is where a load finds a server at an address.
func at(t *testing.T, address string) workload.Env {
	t.Helper()
	return workload.Env{
		Machine: here(t), Dir: filepath.Join(t.TempDir(), "scratch"), Seed: 1, Log: t.Logf,
		Target: func(protocol string) (load.Endpoint, error) {
			if protocol != images.Protocol {
				return load.Endpoint{}, fmt.Errorf("no service supports protocol %s", protocol)
			}
			return load.Endpoint{Network: "tcp", Address: address}, nil
		},
	}
}

// settings are those of a small load of the images that come with plimsoll.
func settings(more parameter.Settings) parameter.Settings {
	s := parameter.Settings{"data": "sample", "images": "20", "connections": "2", "encoding": "raw"}
	for name, value := range more {
		s[name] = value
	}
	return s
}

// ran is a load from its preparation to its end.
func ran(t *testing.T, env workload.Env, s parameter.Settings, stage load.Stage) (*measure.Recorder, error) {
	t.Helper()
	l, err := Kind(included.Images).New(s)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Prepare(t.Context(), env); err != nil {
		t.Fatal(err)
	}
	out := measure.NewRecorder(nil)
	return out, l.Run(t.Context(), env, stage, out)
}

func short() load.Stage {
	return load.Stage{Length: 400 * time.Millisecond, Interval: 100 * time.Millisecond, Seed: 1}
}

// check is the check of a load with a name.
func check(t *testing.T, out *measure.Recorder, name string) measure.Check {
	t.Helper()
	for _, c := range out.Checks() {
		if c.Name == name {
			return c
		}
	}
	t.Fatalf("there is no check %s in %+v", name, out.Checks())
	return measure.Check{}
}

// stub is a classifier that answers by a function of the number of the image since its start, and
// of its label.
type stub struct {
	answer func(n int, label byte) string
	model  string

	mu sync.Mutex
	n  int
}

// listen serves raw images until the test ends.
func (s *stub) listen(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go s.serve(c)
		}
	}()
	return l.Addr().String()
}

func (s *stub) serve(c net.Conn) {
	defer c.Close()
	in := bufio.NewReader(c)
	line, err := in.ReadBytes('\n')
	if err != nil {
		return
	}
	h, err := images.ParseHello(line)
	if err != nil || h.Encoding != images.Raw {
		return
	}
	about, _ := json.Marshal(images.Description{Plimsoll: images.Protocol, Version: images.Version, Model: "stub", SHA256: s.model, Input: images.Unit})
	if _, err := c.Write(append(about, '\n')); err != nil {
		return
	}
	image := make([]byte, 1+images.Numbers)
	for {
		for got := 0; got < len(image); {
			n, err := in.Read(image[got:])
			if err != nil {
				return
			}
			got += n
		}
		s.mu.Lock()
		answer := s.answer(s.n, image[0])
		s.n++
		s.mu.Unlock()
		if answer == "" {
			return
		}
		if _, err := c.Write([]byte(answer)); err != nil {
			return
		}
	}
}

func right(_ int, label byte) string { return string('0'+label) + "\n" }

// smallModel is the hash of the model that comes with plimsoll.
func smallModel(t *testing.T) (string, cifar.Answers) {
	t.Helper()
	env := at(t, classifying(t))
	l, err := Kind(included.Images).New(settings(nil))
	if err != nil {
		t.Fatal(err)
	}
	target, err := env.Target(images.Protocol)
	if err != nil {
		t.Fatal(err)
	}
	c, err := l.(*iotImages).call(t.Context(), env, target)
	if err != nil {
		t.Fatal(err)
	}
	defer c.close()
	return c.about.SHA256, cifar.Expected(c.about.SHA256)
}
