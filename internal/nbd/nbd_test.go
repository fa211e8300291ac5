package nbd

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// TestMain lets this program be the processes that the package starts.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 {
		var err error
		switch os.Args[1] {
		case FilterCommand:
			err = ServeFilter(os.Stdin, os.Stdout)
		case Command:
			err = Serve(context.Background(), os.Stdin, os.Stdout)
		default:
			os.Exit(m.Run())
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// client is an NBD client that reads and writes single fields.
type client struct {
	net.Conn
	in   *bufio.Reader
	next uint64
}

func serve(t testing.TB, exports ...Export) *client {
	t.Helper()
	s := &Server{Exports: exports}
	return connect(t, s)
}

func connect(t testing.TB, s *Server) *client {
	t.Helper()
	l, err := net.Listen("unix", filepath.Join(t.TempDir(), "nbd"))
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
	done := make(chan error, 1)
	go func() { done <- s.ServeConn(context.Background(), there) }()
	t.Cleanup(func() {
		here.Close()
		select {
		case <-done:
		case <-time.After(10 * time.Second):
			t.Error("the connection does not end")
		}
	})
	return &client{Conn: here, in: bufio.NewReader(here)}
}

func (c *client) must(t testing.TB, n int) []byte {
	t.Helper()
	b := make([]byte, n)
	if _, err := io.ReadFull(c.in, b); err != nil {
		t.Fatalf("read %d bytes: %v", n, err)
	}
	return b
}

func (c *client) send(t testing.TB, parts ...any) {
	t.Helper()
	var b bytes.Buffer
	for _, p := range parts {
		if err := binary.Write(&b, binary.BigEndian, p); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := c.Write(b.Bytes()); err != nil {
		t.Fatal(err)
	}
}

func (c *client) greet(t testing.TB, flags uint32) {
	t.Helper()
	want := "NBDMAGICIHAVEOPT\x00\x03"
	if got := string(c.must(t, len(want))); got != want {
		t.Fatalf("greeted by %q", got)
	}
	c.send(t, flags)
}

func (c *client) option(t testing.TB, option uint32, data []byte) {
	t.Helper()
	c.send(t, uint64(magicOption), option, uint32(len(data)), data)
}

// answer reads an option's answer.
func (c *client) answer(t testing.TB, option uint32) (kind uint32, data []byte) {
	t.Helper()
	b := c.must(t, 20)
	if binary.BigEndian.Uint64(b) != magicAnswer || binary.BigEndian.Uint32(b[8:]) != option {
		t.Fatalf("option %d is answered by %x", option, b)
	}
	return binary.BigEndian.Uint32(b[12:]), c.must(t, int(binary.BigEndian.Uint32(b[16:])))
}

func named(name string, asked ...uint16) []byte {
	b := append(binary.BigEndian.AppendUint32(nil, uint32(len(name))), name...)
	b = binary.BigEndian.AppendUint16(b, uint16(len(asked)))
	for _, a := range asked {
		b = binary.BigEndian.AppendUint16(b, a)
	}
	return b
}

// enter does the handshake.
func (c *client) enter(t testing.TB, name string) (size uint64, flags uint16) {
	t.Helper()
	c.greet(t, flagFixed|flagNoZeroes)
	c.option(t, optGo, named(name))
	for {
		kind, data := c.answer(t, optGo)
		switch {
		case kind == repAck:
			return size, flags
		case kind != repInfo:
			t.Fatalf("export %q: answer %#x", name, kind)
		case binary.BigEndian.Uint16(data) == infoExport:
			size, flags = binary.BigEndian.Uint64(data[2:]), binary.BigEndian.Uint16(data[10:])
		}
	}
}

// ask sends a request.
func (c *client) ask(t testing.TB, o Operation, flags uint16, offset uint64, length uint32, data []byte) (cookie uint64) {
	t.Helper()
	c.next++
	c.send(t, uint32(magicAsk), flags, uint16(o), c.next, offset, length, data)
	return c.next
}

// reply reads a reply, with so many bytes where it is no error.
func (c *client) reply(t testing.TB, n int) (cookie uint64, errno uint32, data []byte) {
	t.Helper()
	b := c.must(t, replySize)
	if binary.BigEndian.Uint32(b) != magicReply {
		t.Fatalf("a reply begins with %x", b)
	}
	errno, cookie = binary.BigEndian.Uint32(b[4:]), binary.BigEndian.Uint64(b[8:])
	if errno == 0 {
		data = c.must(t, n)
	}
	return cookie, errno, data
}

func memory(t testing.TB, size int64) *Memory {
	t.Helper()
	return newMemory(size, size)
}

func TestHandshake(t *testing.T) {
	exports := []Export{{Name: "", Device: null{Bytes: 1 << 20}}, {Name: "disk", Device: null{Bytes: 5000}, ReadOnly: true}}
	const long = "a name that there is not"
	t.Run("list", func(t *testing.T) {
		c := serve(t, exports...)
		c.greet(t, flagFixed)
		c.option(t, optList, nil)
		for _, want := range []string{"", "disk"} {
			if kind, data := c.answer(t, optList); kind != repServer || string(data[4:]) != want {
				t.Errorf("listed %#x %q, want %q", kind, data, want)
			}
		}
		if kind, _ := c.answer(t, optList); kind != repAck {
			t.Errorf("the list ends with %#x", kind)
		}
		c.option(t, optList, []byte("x"))
		if kind, _ := c.answer(t, optList); kind != repErrInvalid {
			t.Errorf("a list with data: %#x", kind)
		}
		c.option(t, optAbort, nil)
		if kind, _ := c.answer(t, optAbort); kind != repAck {
			t.Errorf("abort: %#x", kind)
		}
		if _, err := c.in.ReadByte(); !errors.Is(err, io.EOF) {
			t.Errorf("after abort: %v", err)
		}
	})
	t.Run("information", func(t *testing.T) {
		c := serve(t, exports...)
		c.greet(t, flagFixed|flagNoZeroes)
		c.option(t, optInfo, named("disk", infoName, infoBlockSize, 99))
		want := []string{
			"\x00\x00" + "\x00\x00\x00\x00\x00\x00\x13\x88" + "\x01\x0f", "\x00\x01disk",
			"\x00\x03" + "\x00\x00\x00\x01" + "\x00\x00\x10\x00" + "\x02\x00\x00\x00",
		}
		for _, w := range want {
			if kind, data := c.answer(t, optInfo); kind != repInfo || string(data) != w {
				t.Errorf("told %#x %q, want %q", kind, data, w)
			}
		}
		if kind, _ := c.answer(t, optInfo); kind != repAck {
			t.Errorf("ends with %#x", kind)
		}
		for name, test := range map[string]struct {
			option uint32
			data   []byte
			want   uint32
		}{
			"unknown export":   {optGo, named(long), repErrUnknown},
			"no data":          {optGo, nil, repErrInvalid},
			"name too long":    {optGo, []byte{0, 0, 1, 0, 'x', 0, 0}, repErrInvalid},
			"huge name":        {optInfo, []byte{255, 255, 255, 255, 'x', 0, 0}, repErrInvalid},
			"missing facts":    {optInfo, []byte{0, 0, 0, 0, 0, 2, 0, 1}, repErrInvalid},
			"too much":         {optInfo, append(named(""), 1), repErrInvalid},
			"TLS":              {5, nil, repErrUnsupported},
			"structured reply": {8, nil, repErrUnsupported},
			"extended headers": {11, nil, repErrUnsupported},
			"unheard of":       {4711, []byte("data"), repErrUnsupported},
			"big":              {optGo, make([]byte, longestOption+1), repErrTooBig},
		} {
			c.option(t, test.option, test.data)
			if kind, _ := c.answer(t, test.option); kind != test.want {
				t.Errorf("%s: %#x, want %#x", name, kind, test.want)
			}
		}
		c.option(t, optGo, named("")) // and it can still go
		if kind, _ := c.answer(t, optGo); kind != repInfo {
			t.Errorf("go: %#x", kind)
		}
	})
	t.Run("old", func(t *testing.T) {
		for _, flags := range []uint32{0, flagFixed, flagFixed | flagNoZeroes} {
			c := serve(t, exports...)
			c.greet(t, flags)
			c.option(t, optExportName, []byte("disk"))
			want := "\x00\x00\x00\x00\x00\x00\x13\x88\x01\x0f"
			if flags&flagNoZeroes == 0 {
				want += strings.Repeat("\x00", 124)
			}
			if got := string(c.must(t, len(want))); got != want {
				t.Errorf("flags %d: %x", flags, got)
			}
			id := c.ask(t, Read, 0, 0, 100, nil)
			if cookie, errno, _ := c.reply(t, 100); cookie != id || errno != 0 {
				t.Errorf("read: %d %d", cookie, errno)
			}
		}
	})
	for name, first := range map[string]func(*testing.T, *client){
		"unknown flags":  func(t *testing.T, c *client) { c.greet(t, 4) },
		"wrong magic":    func(t *testing.T, c *client) { c.greet(t, 1); c.send(t, make([]byte, 16)) },
		"unknown export": func(t *testing.T, c *client) { c.greet(t, 1); c.option(t, optExportName, []byte(long)) },
		"not fixed":      func(t *testing.T, c *client) { c.greet(t, 0); c.option(t, optList, nil) },
		"endless name": func(t *testing.T, c *client) {
			c.greet(t, 1)
			c.send(t, uint64(magicOption), uint32(optExportName), ^uint32(0))
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := serve(t, exports...)
			first(t, c)
			if b, err := io.ReadAll(c.in); len(b) != 0 || err != nil && !errors.Is(err, syscall.ECONNRESET) {
				t.Errorf("answered by %x, %v", b, err)
			}
		})
	}
}

func TestRequestsThatAreWrong(t *testing.T) {
	c := serve(t, Export{Device: memory(t, 1<<20)})
	if size, flags := c.enter(t, ""); size != 1<<20 || flags != 0x16d {
		t.Fatalf("size %d, flags %#x", size, flags)
	}
	r := serve(t, Export{Device: memory(t, 1<<20), ReadOnly: true})
	r.enter(t, "")
	data := bytes.Repeat([]byte("d"), 8192)
	for _, test := range []struct {
		name   string
		c      *client
		o      Operation
		flags  uint16
		offset uint64
		length uint32
		data   []byte
		want   syscall.Errno
	}{
		{"read beyond", c, Read, 0, 1<<20 - 1, 2, nil, syscall.EINVAL},
		{"read far beyond", c, Read, 0, ^uint64(0), 2, nil, syscall.EINVAL},
		{"read nothing", c, Read, 0, 0, 0, nil, syscall.EINVAL},
		{"read too much", c, Read, 0, 0, longestData + 1, nil, syscall.EINVAL},
		{"read with a fragment flag", c, Read, 4, 0, 1, nil, syscall.EINVAL},
		{"write beyond", c, Write, 0, 1<<20 - 1, 8192, data, syscall.ENOSPC},
		{"write far beyond", c, Write, 0, ^uint64(0) - 4095, 8192, data, syscall.ENOSPC},
		{"write with a flag for zeroes", c, Write, askNoHole, 0, 8192, data, syscall.EINVAL},
		{"trim beyond", c, Trim, 0, 1 << 20, 1, nil, syscall.ENOSPC},
		{"fast zeroes", c, Zero, 16, 0, 1, nil, syscall.EINVAL},
		{"flush of a part", c, Flush, 0, 0, 1, nil, syscall.EINVAL},
		{"cache", c, 5, 0, 0, 1, nil, syscall.EINVAL},
		{"unheard of", c, 999, 0, 0, 1, nil, syscall.EINVAL},
		{"write, read only", r, Write, 0, 0, 8192, data, syscall.EPERM},
		{"trim, read only", r, Trim, 0, 0, 8192, nil, syscall.EPERM},
		{"flush, read only", r, Flush, 0, 0, 0, nil, 0},
		{"read", c, Read, askFUA, 1<<20 - 1, 1, nil, 0},
		{"trim of all", c, Trim, askFUA, 0, 1 << 20, nil, 0},
	} {
		id := test.c.ask(t, test.o, test.flags, test.offset, test.length, test.data)
		n := 0
		if test.o == Read {
			n = int(test.length)
		}
		if cookie, errno, _ := test.c.reply(t, n); cookie != id || errno != uint32(test.want) {
			t.Errorf("%s: answer to %d with error %d, want to %d with %d", test.name, cookie, errno, id, test.want)
		}
	}
	c.ask(t, Write, 0, 0, longestData+1, nil)
	if b, err := io.ReadAll(c.in); len(b) != 0 || err != nil {
		t.Errorf("a write that is too long: %x, %v", b, err)
	}
	r.ask(t, disconnect, 0, 0, 0, nil)
	if b, err := io.ReadAll(r.in); len(b) != 0 || err != nil {
		t.Errorf("after leave was taken: %x, %v", b, err)
	}
}

func emptyFile(t testing.TB, size int64) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "disk")
	if err := os.WriteFile(name, make([]byte, size), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// disks are all devices, each below all filters.
func disks(t *testing.T, size int64) map[string]Device {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]Device{}
	for _, filters := range []string{"", "null", "stats null", "delay:10us", "daemon:null", "daemon:delay:5us null"} {
		for _, kind := range []string{"memory", "file"} {
			d, c, err := Order{File: emptyFile(t, size), Filters: strings.Fields(filters)}.open(self)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				_, err := c.end()
				if err := errors.Join(err, d.Close()); err != nil {
					t.Error(err)
				}
			})
			if kind == "memory" {
				d = withFilters(memory(t, size), c.filters...)
			}
			all[kind+" "+filters] = d
		}
	}
	return all
}

// Random concurrent requests on two connections have the same results as an array of bytes.
func TestDataAgainstAnArray(t *testing.T) {
	const size, regions = 2 << 20, 4
	for name, d := range disks(t, size) {
		t.Run(name, func(t *testing.T) {
			s := &Server{Exports: []Export{{Device: d}}}
			truth := make([]byte, size)
			var all sync.WaitGroup
			for region := range regions {
				c := connect(t, s)
				c.enter(t, "")
				all.Go(func() {
					part := truth[region*size/regions:][:size/regions]
					r := rand.New(rand.NewPCG(uint64(region), 3))
					for range 25 {
						batch(t, c, r, part, uint64(region*size/regions))
					}
				})
			}
			all.Wait()
			c := connect(t, s)
			c.enter(t, "")
			c.ask(t, Read, 0, 0, size, nil)
			if _, errno, data := c.reply(t, size); errno != 0 || !bytes.Equal(data, truth) {
				t.Errorf("at the end the disk differs, or error %d", errno)
			}
		})
	}
}

// batch sends some requests to places of their own and then reads all answers, in whatever order they come.
func batch(t *testing.T, c *client, r *rand.Rand, part []byte, offset uint64) {
	const places = 8
	want := map[uint64][]byte{} // by cookie, of reads
	expected := map[uint64]bool{}
	for p := range places {
		place := part[p*len(part)/places:][:len(part)/places]
		begin := r.IntN(len(place) - 1)
		n := 1 + r.IntN(min(len(place)-begin, []int{600, 5000, 70000}[r.IntN(3)]))
		piece, at := place[begin:begin+n], offset+uint64(p*len(part)/places+begin)
		flags := uint16(0)
		if r.IntN(20) == 0 {
			flags = askFUA
		}
		var id uint64
		switch r.IntN(6) {
		case 0, 1:
			data := make([]byte, n)
			for i := range data {
				data[i] = byte(r.Uint32())
			}
			copy(piece, data)
			id = c.ask(t, Write, flags, at, uint32(n), data)
		case 2:
			clear(piece)
			id = c.ask(t, Zero, flags|askNoHole*uint16(r.IntN(2)), at, uint32(n), nil)
		case 3:
			clear(piece) // both devices read zeroes where they were trimmed
			id = c.ask(t, Trim, flags, at, uint32(n), nil)
		case 4:
			id = c.ask(t, Read, flags, at, uint32(n), nil)
			want[id] = bytes.Clone(piece)
		case 5:
			id = c.ask(t, Flush, 0, 0, 0, nil)
		}
		expected[id] = true
	}
	for range places {
		head := c.must(t, replySize)
		id := binary.BigEndian.Uint64(head[8:])
		if errno := binary.BigEndian.Uint32(head[4:]); errno != 0 || !expected[id] {
			t.Errorf("reply to %d with error %d", id, errno)
			return
		}
		delete(expected, id)
		if data, ok := want[id]; ok && !bytes.Equal(c.must(t, len(data)), data) {
			t.Errorf("read %d gave other bytes", id)
			return
		}
	}
}

// gate is a disk on which reads of its first byte wait until a write comes.
type gate struct {
	null
	open chan struct{}
}

func (g gate) Try(*Request) (bool, error) { return false, nil }

func (g gate) Do(ctx context.Context, r *Request) error {
	switch {
	case r.Operation == Write:
		close(g.open)
	case r.Offset == 0:
		<-g.open
	}
	return g.null.Do(ctx, r)
}

func TestAnswersOvertake(t *testing.T) {
	c := serve(t, Export{Device: gate{null{Bytes: 1 << 20}, make(chan struct{})}})
	c.enter(t, "")
	slow := c.ask(t, Read, 0, 0, 10, nil)
	quick := c.ask(t, Read, 0, 4096, 10, nil)
	if cookie, _, _ := c.reply(t, 10); cookie != quick {
		t.Errorf("the first answer is to %d", cookie)
	}
	c.ask(t, Write, 0, 0, 10, make([]byte, 10))
	var rest []uint64
	for range 2 {
		b := c.must(t, replySize)
		id := binary.BigEndian.Uint64(b[8:])
		if id == slow {
			c.must(t, 10)
		}
		rest = append(rest, id)
	}
	if !slices.Contains(rest, slow) {
		t.Errorf("the slow read is not among %v", rest)
	}
}

func TestErrorsReachTheClient(t *testing.T) {
	const chunkSize = 64 << 10
	c := serve(t, Export{Name: "full", Device: newMemory(1<<30, chunkSize)},
		Export{Name: "bad", Device: withFilters(null{Bytes: 1 << 20}, &fail{Every: 3, Error: fmt.Errorf("planted: %w", syscall.ENOMEM)})})
	c.enter(t, "full")
	for i, want := range []syscall.Errno{0, syscall.ENOSPC, 0} {
		c.ask(t, Write, 0, uint64(i%2)*chunkSize, 3, []byte("abc"))
		if _, errno, _ := c.reply(t, 0); errno != uint32(want) {
			t.Errorf("write %d: error %d, want %d", i, errno, want)
		}
	}
	b := serve(t, Export{Device: withFilters(null{Bytes: 1 << 20}, &fail{Every: 3, Error: fmt.Errorf("planted: %w", syscall.ENOMEM)})})
	b.enter(t, "")
	for i := range 9 {
		b.ask(t, Read, 0, 0, 512, nil)
		if _, errno, _ := b.reply(t, 512); (errno == uint32(syscall.ENOMEM)) != (i%3 == 2) {
			t.Errorf("read %d: error %d", i, errno)
		}
	}
	for err, want := range map[error]syscall.Errno{
		nil: 0, errors.New("odd"): syscall.EIO, syscall.EDQUOT: syscall.ENOSPC, syscall.EROFS: syscall.EPERM, syscall.ENOENT: syscall.EIO, syscall.ENOTSUP: syscall.ENOTSUP,
	} {
		if got := number(err); got != uint32(want) {
			t.Errorf("%v is told as %d, want %d", err, got, want)
		}
	}
}

// Each filter sees each request once: Do does not repeat the filters already applied by Try.
func TestFiltersSeeEachRequestOnce(t *testing.T) {
	for name, d := range map[string]Device{"prompt": memory(t, 1<<20), "slow": null{Bytes: 1 << 20, Latency: time.Microsecond}, "late": hesitant{null{Bytes: 1 << 20}}} {
		s := &stats{}
		c := serve(t, Export{Device: withFilters(d, pass{}, s)})
		c.enter(t, "")
		for range 10 {
			c.ask(t, Write, 0, 0, 1000, make([]byte, 1000))
			c.reply(t, 0)
			c.ask(t, Read, 0, 0, 500, nil)
			c.reply(t, 500)
			c.ask(t, Flush, 0, 0, 0, nil)
			c.reply(t, 0)
		}
		want := []Count{{"read", 10, 5000}, {"write", 10, 10000}, {"flush", 10, 0}, {"trim", 0, 0}, {"zero", 0, 0}}
		if got := s.Counts(); !slices.Equal(got, want) {
			t.Errorf("%s: counted %v, want %v", name, got, want)
		}
	}
}

// hesitant is a disk whose requests would all block.
type hesitant struct{ null }

func (hesitant) Try(*Request) (bool, error) { return false, nil }

func TestDelay(t *testing.T) {
	c := serve(t, Export{Device: withFilters(memory(t, 1<<20), delay(200*time.Millisecond))})
	c.enter(t, "")
	begin := time.Now()
	for range 16 {
		c.ask(t, Read, 0, 0, 512, nil)
	}
	for range 16 {
		c.reply(t, 512)
	}
	if d := time.Since(begin); d < 200*time.Millisecond || d > 2*time.Second {
		t.Errorf("16 reads at once took %v", d)
	}
}

// After the filter's process has exited, requests fail and nothing hangs.
func TestAFilterThatDies(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	a, err := startFiltering([]string{self, FilterCommand}, "fail:2")
	if err != nil {
		t.Fatal(err)
	}
	c := serve(t, Export{Device: withFilters(memory(t, 1<<20), a)})
	c.enter(t, "")
	for i, want := range []syscall.Errno{0, syscall.EIO, 0} {
		c.ask(t, Read, 0, 0, 512, nil)
		if _, errno, _ := c.reply(t, 512); errno != uint32(want) {
			t.Errorf("read %d: error %d, want %d", i, errno, want)
		}
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	c.ask(t, Read, 0, 0, 512, nil)
	if _, errno, _ := c.reply(t, 512); errno != uint32(syscall.ESHUTDOWN) {
		t.Errorf("without the filter: error %d", errno)
	}
	if _, err := startFiltering([]string{"/nowhere/at/all"}); err == nil || !strings.Contains(err.Error(), "start a process that filters") {
		t.Errorf("a program that there is not: %v", err)
	}
}

func TestOrders(t *testing.T) {
	dir := t.TempDir()
	for _, test := range []struct {
		o    Order
		says string
	}{
		{Order{File: dir}, "directory"},
		{Order{File: "/dev/null"}, "not a regular file"},
		{Order{File: emptyFile(t, 1), Filters: []string{"cache"}}, "must be null, stats"},
		{Order{File: emptyFile(t, 1), Filters: []string{"delay:x"}}, "as in delay:1ms"},
		{Order{File: emptyFile(t, 1), Filters: []string{"daemon:fail:0"}}, "as in fail:100"},
	} {
		if _, _, err := test.o.open("/nowhere"); err == nil || !strings.Contains(err.Error(), test.says) {
			t.Errorf("%+v: %v, want %q", test.o, err, test.says)
		}
	}
}

// As a process, the server prints its address, and at the end its counters.
func TestServe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "nbd")
	in, keep := io.Pipe()
	said, out := io.Pipe()
	done := make(chan error, 1)
	go func() { err := Serve(t.Context(), in, out); out.Close(); done <- err }()
	if _, err := keep.Write(Order{Path: path, File: emptyFile(t, 1<<20), Filters: []string{"daemon:null", "stats"}}.Line()); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(said)
	if line, err := lines.ReadString('\n'); line != "nbd-server listens\n" {
		t.Fatalf("said %q, %v", line, err)
	}
	conn, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	c := &client{Conn: conn, in: bufio.NewReader(conn)}
	c.enter(t, "")
	c.ask(t, Read, 0, 0, 512, nil)
	c.reply(t, 512)
	if _, err := io.WriteString(keep, Ask); err != nil {
		t.Fatal(err)
	}
	var now Status
	line, err := lines.ReadBytes('\n')
	if err := errors.Join(err, json.Unmarshal(line, &now)); err != nil {
		t.Fatal(err)
	}
	if now.Clients != 1 || !slices.Equal(now.Filters, []string{"daemon:null", "stats"}) || len(now.Apart) != 1 || now.Counts[0].Requests != 1 {
		t.Errorf("it tells of itself %+v", now)
	}
	conn.Close()
	keep.Close()
	if line, err := lines.ReadString('\n'); !strings.Contains(line, `{"operation":"read","requests":1,"bytes":512}`) {
		t.Errorf("counted %q, %v", line, err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the socket is left: %v", err)
	}
}

// stream is a connection with fixed input.
type stream struct {
	net.Conn
	in  *bytes.Reader
	out bytes.Buffer
	mu  sync.Mutex
}

func (s *stream) Read(b []byte) (int, error) { return s.in.Read(b) }
func (s *stream) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.out.Write(b)
}
func (s *stream) Close() error { return nil }

// For any input of a client, the server ends the connection without a panic, and replies to
// every request that it could parse once.
func FuzzClient(f *testing.F) {
	hello := binary.BigEndian.AppendUint32(nil, flagFixed|flagNoZeroes)
	option := func(n uint32, data []byte) []byte {
		b := binary.BigEndian.AppendUint64(nil, magicOption)
		b = binary.BigEndian.AppendUint32(b, n)
		return append(binary.BigEndian.AppendUint32(b, uint32(len(data))), data...)
	}
	ask := func(o Operation, offset uint64, n uint32) []byte {
		b := binary.BigEndian.AppendUint32(nil, magicAsk)
		b = binary.BigEndian.AppendUint16(binary.BigEndian.AppendUint16(b, 0), uint16(o))
		b = binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(b, 7), offset)
		return binary.BigEndian.AppendUint32(b, n)
	}
	f.Add(slices.Concat(hello, option(optList, nil), option(optInfo, named("", infoName)), option(optAbort, nil)))
	f.Add(slices.Concat(hello, option(optExportName, nil), ask(Read, 0, 100), ask(disconnect, 0, 0)))
	f.Add(slices.Concat(hello, option(optGo, named("")), ask(Write, 4, 3), []byte("abc"), ask(Zero, 0, 9), ask(Trim, 1, 2), ask(Flush, 0, 0)))
	f.Fuzz(func(t *testing.T, said []byte) {
		c := &stream{in: bytes.NewReader(said)}
		s := &Server{Exports: []Export{{Device: withFilters(memory(t, 1<<20), pass{})}}}
		err := s.ServeConn(context.Background(), c)
		if err != nil && !strings.Contains(err.Error(), "NBD client") {
			t.Errorf("an error that does not name the client: %v", err)
		}
		if c.out.Len() < 18 {
			t.Error("no greeting")
		}
		if s.budget.left != 64<<20 || c.in.Len() > 0 && err == nil && !bytes.Contains(said, []byte{0, byte(disconnect)}) {
			t.Errorf("memory left %d, %d bytes unread without a reason", s.budget.left, c.in.Len())
		}
	})
}

// For any message of another process, the filter's side ends, and stays within its shared
// memory.
func FuzzMessages(f *testing.F) {
	f.Add(append([]byte("[\"null\"]\n"), message{operation: 1, length: 5, carried: 5}.append(nil)...))
	f.Add([]byte("[\"stats\",\"fail:2\"]\n"))
	f.Add(append([]byte("[]\n"), message{slot: slots, carried: 5}.append(nil)...))
	f.Fuzz(func(t *testing.T, said []byte) {
		if bytes.Contains(said, []byte("delay")) {
			return
		}
		var out bytes.Buffer
		_ = serveFilter(bytes.NewReader(said), &out, make([]byte, slots*slotSize))
		if out.Len()%messageSize != 0 || out.Len() > len(said) {
			t.Errorf("%d bytes of answers to %d", out.Len(), len(said))
		}
	})
}

// The filter's process exits with the server, however that ends.
func TestNothingIsLeftAfterAKill(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, Command)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := in.Write(Order{Path: filepath.Join(t.TempDir(), "nbd"), File: emptyFile(t, 1<<20), Filters: []string{"daemon:null"}}.Line()); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatalf("it says %q, %v", line, err)
	}
	var children []string
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", cmd.Process.Pid))
	for _, name := range files {
		text, _ := os.ReadFile(name)
		children = append(children, strings.Fields(string(text))...)
	}
	if err != nil || len(children) != 1 {
		t.Skipf("the kernel does not tell of children: %v, %v", children, err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for range 1000 {
		text, err := os.ReadFile("/proc/" + children[0] + "/stat")
		if err != nil || strings.Contains(string(text), ") Z ") {
			return
		}
		<-tick.C
	}
	t.Errorf("process %s is left", children[0])
}
