package classifier

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/images"
	"plimsoll/internal/images/cifar"
	"plimsoll/internal/images/cifar/included"
)

// serving starts a classifier in this process, and returns its address.
func serving(t *testing.T, o order) string {
	t.Helper()
	in, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	from, to := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		err := Serve(ctx, strings.NewReader(string(in)), to)
		to.CloseWithError(err)
		ended <- err
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("serve: %v", err)
		}
	})
	var g greeting
	if err := json.NewDecoder(from).Decode(&g); err != nil {
		t.Fatal(err)
	}
	return g.Address
}

func ownOrder() order { return order{Engine: goEngine, Model: smallModel, Threads: 1, Batch: 1} }

// peer is a client.
type peer struct {
	*net.TCPConn
	in *bufio.Reader
}

func dial(t *testing.T, address string) *peer {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(5 * time.Minute)); err != nil {
		t.Fatal(err)
	}
	return &peer{conn.(*net.TCPConn), bufio.NewReader(conn)}
}

func (p *peer) say(t *testing.T, data []byte) {
	t.Helper()
	if _, err := p.Write(data); err != nil {
		t.Fatal(err)
	}
}

func (p *peer) hear(t *testing.T) string {
	t.Helper()
	line, err := p.in.ReadString('\n')
	if err != nil {
		t.Fatalf("%q, %v", line, err)
	}
	return strings.TrimSuffix(line, "\n")
}

// greet begins a connection with images.
func greet(t *testing.T, address string, e images.Encoding) (*peer, images.Description) {
	t.Helper()
	p := dial(t, address)
	p.say(t, images.Hello{Encoding: e}.Line())
	d, err := images.ParseDescription([]byte(p.hear(t)))
	if err != nil {
		t.Fatal(err)
	}
	return p, d
}

func sample(t *testing.T, count int) []images.Image {
	t.Helper()
	set, err := included.Images()
	if err != nil {
		t.Fatal(err)
	}
	return set[:count]
}

// ask reads what the server tells about itself.
func ask(t *testing.T, address string, about images.Question, into any) {
	t.Helper()
	p := dial(t, address)
	p.say(t, images.Hello{Ask: about}.Line())
	if err := json.Unmarshal([]byte(p.hear(t)), into); err != nil {
		t.Fatal(err)
	}
}

// classes has images classified over one connection, all sent at once.
func classes(t *testing.T, address string, e images.Encoding, set []images.Image) string {
	t.Helper()
	p, d := greet(t, address, e)
	encoder, err := images.NewEncoder(e, d.Input, set)
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		var data []byte
		for i := range set {
			data = encoder.Append(data[:0], i)
			if _, err := p.Write(data); err != nil {
				return // the reader sees it
			}
		}
	}()
	var all strings.Builder
	for range set {
		all.WriteString(p.hear(t))
	}
	return all.String()
}

// matches counts the right classes, and holds each against what is known of the model.
func matches(t *testing.T, got string, set []images.Image, known cifar.Answers) (n int) {
	t.Helper()
	for i := range set {
		right := got[i] == '0'+set[i].Label
		if right {
			n++
		}
		if right != known.Right(i) {
			t.Errorf("image %d is class %c, label %d", i, got[i], set[i].Label)
		}
	}
	return n
}

// The Go engine gives the answers that ONNX Runtime gives, whatever the encoding.
func TestAnswersOfTheGoEngine(t *testing.T) {
	t.Parallel()
	address := serving(t, ownOrder())
	_, d := greet(t, address, images.Raw)
	known := cifar.Expected(d.SHA256)
	if known == nil {
		t.Fatalf("the answers of model %s are not known", d.SHA256)
	}
	count := 60
	if os.Getenv("PLIMSOLL_REAL") != "" {
		count = 300
	}
	set := sample(t, count)
	if n := matches(t, classes(t, address, images.Raw, set), set, known); n != known.Correct(0, count) {
		t.Errorf("%d of %d are correct", n, count)
	}
	for _, e := range []images.Encoding{images.FloatText, images.IntText, images.PNG} {
		some := set[:10]
		if n := matches(t, classes(t, address, e, some), some, known); n != known.Correct(0, 10) {
			t.Errorf("%s: %d of 10 are correct", e, n)
		}
	}
	var counts map[string]float64
	ask(t, address, images.Counts, &counts)
	if counts["classifier.images"] != float64(count+30) || counts["classifier.correct"] != float64(known.Correct(0, count)+3*known.Correct(0, 10)) || counts["classifier.refused"] != 0 {
		t.Errorf("counters %v", counts)
	}
	if cpu := counts["classifier.parse.cpu"] + counts["classifier.infer.cpu"]; cpu < .9*counts["classifier.cpu"] || cpu > 1.1*counts["classifier.cpu"] || counts["classifier.infer.cpu"] == 0 {
		t.Errorf("CPU of parsing and computing is not that of the server: %v", counts)
	}
}

// Several connections and threads share the queue, and answers keep their order.
func TestConnectionsKeepTheirOrder(t *testing.T) {
	t.Parallel()
	o := ownOrder()
	o.Threads = 3
	address := serving(t, o)
	set := sample(t, 12)
	want := classes(t, address, images.Raw, set)
	var all []<-chan string
	for range 3 {
		got := make(chan string, 1)
		all = append(all, got)
		go func() { got <- classes(t, address, images.IntText, set) }()
	}
	for _, got := range all {
		if g := <-got; g != want {
			t.Errorf("the classes are %s instead of %s", g, want)
		}
	}
}

// The lines of the published kit need no hello, and get no answer before an empty line.
func TestKit(t *testing.T) {
	t.Parallel()
	address := serving(t, ownOrder())
	set := sample(t, 20)
	_, d := greet(t, address, images.Raw)
	want := cifar.Expected(d.SHA256).Correct(0, 20)
	for _, e := range []images.Encoding{images.FloatText, images.IntText} {
		encoder, err := images.NewEncoder(e, d.Input, set)
		if err != nil {
			t.Fatal(err)
		}
		var data []byte
		for i := range set {
			data = encoder.Append(data, i)
		}
		p := dial(t, address)
		p.say(t, append(data, '\n'))
		var sum images.Stream
		if err := json.Unmarshal([]byte(p.hear(t)), &sum); err != nil {
			t.Fatal(err)
		}
		if sum.Images != 20 || sum.Correct != int64(want) || sum.Bytes != int64(len(data)) || sum.Seconds <= 0 {
			t.Errorf("%s: %+v, want %d correct of %d bytes", e, sum, want, len(data))
		}
	}
	var all images.Stream
	ask(t, address, images.Streams, &all)
	if all.Images != 40 || all.Correct != int64(2*want) {
		t.Errorf("all streams together are %+v", all)
	}
}

// Each fault is one clear line to the client, counted once, and the server goes on.
func TestFaultsOfClients(t *testing.T) {
	t.Parallel()
	address := serving(t, ownOrder())
	set := sample(t, 2)
	encoder, err := images.NewEncoder(images.FloatText, images.Unit, set)
	if err != nil {
		t.Fatal(err)
	}
	good := string(encoder.Append(nil, 0))
	hello := string(images.Hello{Encoding: images.FloatText}.Line())
	faults := []struct {
		name, says, want string
		answers          int // before the refusal
	}{
		{"malformed line", hello + good + "hello\n", "error: image 2: the label is 'h' instead of a digit", 1},
		{"3,071 numbers", hello + good[:strings.LastIndex(good, " ")] + "\n", "error: image 1: 3071 numbers instead of 3072", 0},
		{"label x", hello + good + good + "x" + good[1:], "error: image 3: the label is 'x' instead of a digit", 2},
		{"half a line then close", hello + good + good[:1000], "error: image 2: the connection ended within it, after 1000 bytes", 1},
		{"another protocol", "GET / HTTP/1.1\r\n", "error: the first line is \"GET / HTTP/1.1\\r\" instead of a hello", -1},
		{"half a line of the kit", good[:1000], "error: image 1: the connection ended within it, after 1000 bytes", -1},
		{"3,073 numbers of the kit", strings.TrimSuffix(good, "\n") + " 1\n", "error: image 1: 3073 numbers instead of 3072", -1},
	}
	for _, c := range faults {
		t.Run(c.name, func(t *testing.T) {
			p := dial(t, address)
			p.say(t, []byte(c.says))
			if err := p.CloseWrite(); err != nil {
				t.Fatal(err)
			}
			for range c.answers + 1 { // the description first
				p.hear(t)
			}
			if got := p.hear(t); !strings.HasPrefix(got, c.want) {
				t.Errorf("the answer is %q, want %q", got, c.want)
			}
			if rest, err := io.ReadAll(p.in); err != nil || len(rest) > 0 {
				t.Errorf("after it comes %q, %v", rest, err)
			}
		})
	}
	var counts map[string]float64
	ask(t, address, images.Counts, &counts)
	if counts["classifier.refused"] != float64(len(faults)) {
		t.Errorf("%g images are refused, want %d", counts["classifier.refused"], len(faults))
	}
	if got := classes(t, address, images.Raw, set); len(got) != 2 {
		t.Errorf("after the faults the classes are %q", got)
	}
}

// What the kernel refuses and orders that cannot be met end the server in one line.
func TestOrdersThatCannotBeServed(t *testing.T) {
	for in, want := range map[string]string{
		"":                 "read what to serve",
		`{"model":"none"}`: `model "none" is neither`,
		`{"model":"small","engine":"go","batch":1,"threads":1,"host":"203.0.113.1"}`:           "listen for images",
		`{"model":"/no/file@0123456789abcdef","file":"/no/file","batch":1,"threads":1}`:        "read model /no/file",
		`{"model":"small","engine":"onnxruntime","python":"/no/python","batch":1,"threads":1}`: "start ONNX Runtime",
	} {
		if err := Serve(t.Context(), strings.NewReader(in), io.Discard); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s gives %v, want %q", in, err, want)
		}
	}
}

// A client that reads nothing is served no more than its connection holds; others go on.
func TestSlowReader(t *testing.T) {
	t.Parallel()
	address := serving(t, ownOrder())
	set := sample(t, 1)
	slow, _ := greet(t, address, images.Raw)
	raw, err := images.NewEncoder(images.Raw, images.Unit, set)
	if err != nil {
		t.Fatal(err)
	}
	data := raw.Append(nil, 0)
	sent := make(chan int, 1)
	go func() {
		n := 0
		for range 50 {
			if _, err := slow.Write(data); err != nil {
				break
			}
			n++
		}
		sent <- n
	}()
	if got := classes(t, address, images.Raw, set); len(got) != 1 {
		t.Errorf("beside a slow reader the class is %q", got)
	}
	if n := <-sent; n != 50 {
		t.Errorf("%d images were sent", n)
	}
	for i := range 50 {
		if got := slow.hear(t); len(got) != 1 {
			t.Fatalf("answer %d is %q", i, got)
		}
	}
}
