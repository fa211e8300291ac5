package libvirt

import (
	"bytes"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestXDR(t *testing.T) {
	e := encoder{}
	e.string("abcde")
	e.optional("")
	e.optional("x")
	e.int32(-2)
	want := []byte{0, 0, 0, 5, 'a', 'b', 'c', 'd', 'e', 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1, 'x', 0, 0, 0, 0xff, 0xff, 0xff, 0xfe}
	if !bytes.Equal(e.b, want) {
		t.Errorf("%v\nwant %v", e.b, want)
	}
	d := decoder{b: e.b}
	if s, none, x, n := d.string(), d.optional(), d.optional(), d.int32(); s != "abcde" || none != "" || x != "x" || n != -2 {
		t.Errorf("read %q %q %q %d", s, none, x, n)
	}
	if err := d.end(); err != nil {
		t.Error(err)
	}
	if d = (decoder{b: want[:7]}); d.string() != "" || d.end() == nil {
		t.Error("half a string was read")
	}
	if d = (decoder{b: want[:8]}); d.uint32() != 5 || d.end() == nil {
		t.Error("what is left over was not seen")
	}
}

func statistics(e *encoder) {
	e.uint32(1)
	Domain{Name: "web", ID: 3}.encode(e)
	values := []func(){
		func() { e.string("i"); e.int32(typeInt); e.int32(-1) },
		func() { e.string("u"); e.int32(typeUint); e.uint32(7) },
		func() { e.string("l"); e.int32(typeLong); e.fixed(bytes.Repeat([]byte{0xff}, 8)) },
		func() { e.string("ul"); e.int32(typeUlong); e.fixed([]byte{0, 0, 0, 1, 0, 0, 0, 0}) },
		func() { e.string("d"); e.int32(typeDouble); e.fixed([]byte{0x3f, 0xe0, 0, 0, 0, 0, 0, 0}) },
		func() { e.string("b"); e.int32(typeBoolean); e.uint32(1) },
		func() { e.string("s"); e.int32(typeString); e.string("text") },
	}
	e.uint32(uint32(len(values)))
	for _, v := range values {
		v()
	}
}

func TestStatisticsAreRead(t *testing.T) {
	e := encoder{}
	statistics(&e)
	got, err := decodeStatistics(e.b)
	want := map[string]Statistics{"web": {"i": -1, "u": 7, "l": -1, "ul": math.Pow(2, 32), "d": 0.5, "b": 1}}
	if err != nil || !cmp.Equal(got, want) {
		t.Errorf("%v\n%s", err, cmp.Diff(want, got))
	}
}

// Whatever a daemon sends is taken or refused; nothing makes room for what is not there.
func FuzzAnswers(f *testing.F) {
	e := encoder{}
	statistics(&e)
	f.Add(e.b)
	f.Add(message{header{programRemote, 1, procOpen, kindReply, 1, statusError}, e.b}.encode())
	f.Add([]byte("0-3,8,16-19"))
	f.Add(refusal(42, "none")(message{}).body)
	f.Fuzz(func(t *testing.T, b []byte) {
		if m, err := readMessage(bytes.NewReader(b)); err == nil && !bytes.Equal(m.encode(), b[:headerSize+len(m.body)]) {
			t.Error("a message is not what was sent")
		}
		all, err := decodeStatistics(b)
		if err == nil && len(all) > len(b)/leastDomain {
			t.Errorf("%d domains in %d bytes", len(all), len(b))
		}
		if decodeError(b) == nil {
			t.Error("an error is none")
		}
		if n, err := decodeNode(b); err == nil && (n.Memory < 0 || n.Cells < 0) {
			t.Errorf("a host with %+v", n)
		}
		if l, err := decodeLifecycle(b); err == nil && len(l.Why()) == 0 && l.Migrated() {
			t.Errorf("an event without a reason: %+v", l)
		}
		if c, err := decodeCapabilities(string(b)); err == nil && len(c.Cells) > len(b) {
			t.Errorf("%d cells in %d bytes", len(c.Cells), len(b))
		}
		for id := range (Bank{CPUs: string(b)}).Processors() {
			if id < 0 || id >= mostProcessors {
				t.Errorf("%q are processors, with %d", b, id)
			}
		}
		j := decoder{b: b}
		if x := j.job(); x.Total < 0 || x.Iteration < 0 {
			t.Errorf("a job of %+v", x)
		}
		d := decoder{b: b}
		d.domain()
		if d.err == nil && len(b) < leastDomain {
			t.Error("a domain out of nothing")
		}
	})
}
