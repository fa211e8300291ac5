package remote

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"sync/atomic"
	"testing"
	"time"

	"plimsoll/internal/platform"
)

func jsonHello(h hello) ([]byte, error) {
	text, err := json.Marshal(h)
	return appendFrame(nil, frame{kindHello, 0, text}), err
}

func head(b0 byte, k kind, call, length uint32) []byte {
	b := []byte{b0, 'L', byte(k), 0}
	return binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(b, call), length)
}

func TestFramesAreRefused(t *testing.T) {
	for name, b := range map[string][]byte{
		"magic":      head('Q', kindBeat, 0, 0),
		"kind 0":     head('P', 0, 0, 0),
		"kind":       head('P', kinds, 1, 0),
		"long":       head('P', kindData, 1, mostPayload+1),
		"huge":       head('P', kindResult, 1, 1<<32-1),
		"empty":      head('P', kindData, 1, 0),
		"credit":     head('P', kindCredit, 1, 3),
		"beat":       head('P', kindBeat, 0, 1),
		"no call":    head('P', kindData, 0, 1),
		"a call":     head('P', kindOver, 1, 0),
		"long hello": head('P', kindHello, 0, mostHello+1),
	} {
		_, err := readFrame(bufio.NewReader(bytes.NewReader(append(b, 0, 0, 0, 0))))
		var broken *frameError
		if !errors.As(err, &broken) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func FuzzFrame(f *testing.F) {
	f.Add(appendFrame(nil, frame{kindData, 3, []byte("x")}))
	f.Add(appendFrame(appendFrame(nil, frame{kind: kindBeat}), frame{kindCredit, 1, []byte{0, 0, 0, 1}}))
	f.Fuzz(func(t *testing.T, text []byte) {
		r := bufio.NewReader(bytes.NewReader(text))
		var again []byte
		for {
			x, err := readFrame(r)
			if err != nil {
				break
			}
			if len(x.payload) > mostPayload {
				t.Fatalf("a payload of %d bytes passed", len(x.payload))
			}
			again = appendFrame(again, x)
		}
		if !bytes.HasPrefix(text, again) {
			t.Errorf("%q is written again as %q", text, again)
		}
	})
}

// script is a connection that says what it is given and then ends.
type script struct {
	io.Reader
	closed atomic.Bool
}

func (s *script) Write(p []byte) (int, error) { return len(p), nil }
func (s *script) Close() error                { s.closed.Store(true); return nil }

// For any input, the server ends with its connection, and runs only commands requested by a
// complete, valid frame.
func FuzzServer(f *testing.F) {
	call, _ := json.Marshal(request{Method: methodRun, Argv: [][]byte{[]byte("ok")}, Stdin: true})
	f.Add(appendFrame(nil, frame{kindCall, 1, call}))
	f.Add(appendFrame(appendFrame(nil, frame{kindCall, 1, call}), frame{kindData, 1, []byte("text")}))
	f.Add(append(appendFrame(nil, frame{kindCall, 1, call}), head('P', kindData, 1, 1<<30)...))
	f.Add(appendFrame(nil, frame{kindCall, 7, []byte(`{"method":"write","name":"L3g="}`)}))
	claimed := []byte(`{"run":"A","dir":"/a","lab":"process 1 on lab","names":["x"]}`)
	f.Add(appendFrame(appendFrame(appendFrame(appendFrame(nil, frame{kindCall, 1, []byte(`{"method":"claim","stdin":true}`)}), frame{kindData, 1, claimed}), frame{kindEnd, 1, nil}),
		frame{kindCall, 2, []byte(`{"method":"release","name":"QQ=="}`)}))
	greeting, err := jsonHello(hello{Protocol: Protocol, Session: "s"})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var running atomic.Int64
		e := &echo{run: func(ctx context.Context, c platform.Command) (platform.Result, error) {
			running.Add(1)
			defer running.Add(-1)
			_, err := io.Copy(io.Discard, onlyReader{c.Stdin})
			return platform.Result{}, err
		}}
		conn := &script{Reader: io.MultiReader(bytes.NewReader(greeting), bytes.NewReader(text))}
		ended := make(chan error, 1)
		h := &host{}
		s := h.server()
		s.Machine = claiming{e, h}
		go func() { ended <- s.Serve(context.Background(), conn) }()
		select {
		case <-ended:
		case <-time.After(10 * time.Second):
			t.Fatal("the far side goes on after the end of its connection")
		}
		if running.Load() != 0 {
			t.Error("a command goes on after the end of the connection")
		}
		if len(h.claimed) > 0 {
			t.Errorf("claims outlive the connection: %v", h.claimed)
		}
		whole := bytes.Contains(text, []byte(`"write"`)) || bytes.Contains(bytes.ToLower(text), []byte("method"))
		if !whole && len(e.files) > 0 {
			t.Errorf("files were written: %v", e.files)
		}
	})
}

type onlyReader struct{ r io.Reader }

func (o onlyReader) Read(p []byte) (int, error) {
	if o.r == nil {
		return 0, io.EOF
	}
	return o.r.Read(p)
}

// For any input, the client's calls end.
func FuzzClient(f *testing.F) {
	f.Add(appendFrame(nil, frame{kindResult, 1, []byte(`{"exit":3}`)}))
	f.Add(appendFrame(nil, frame{kindData, 1, []byte("out")}))
	f.Fuzz(func(t *testing.T, text []byte) {
		l := newLink(context.Background(), &script{Reader: bytes.NewReader(text)}, 0, 0)
		m := &Machine{link: l, calls: map[uint32]*call{}, ended: make(chan struct{})}
		k := &call{}
		if err := m.enter(k); err != nil {
			t.Fatal(err)
		}
		go m.live()
		<-m.ended
		<-k.done
		_, _ = io.Copy(io.Discard, k.in)
	})
}
