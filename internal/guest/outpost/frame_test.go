package outpost

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"slices"
	"testing"
	"time"

	"plimsoll/internal/guest/pages"
)

func TestFrames(t *testing.T) {
	var out bytes.Buffer
	w := &wire{out: &out}
	for _, parts := range [][][]byte{nil, {[]byte("a")}, {number(7), []byte{byte(verbTake)}, bytes.Repeat([]byte{9}, 70000)}} {
		if err := w.send(kindAsk, parts...); err != nil {
			t.Fatal(err)
		}
		k, got, err := receive(bufio.NewReader(&out))
		if want := slices.Concat(parts...); err != nil || k != kindAsk || !bytes.Equal(got, want) {
			t.Errorf("frame %d of %d bytes, want %d, %v", k, len(got), len(want), err)
		}
		out.Reset()
	}
	for name, c := range map[string]struct {
		text string
		want error
	}{
		"nothing":   {"", io.EOF},
		"half":      {"\x01\x00", io.ErrUnexpectedEOF},
		"no data":   {"\x01\x00\x00\x00\x05", io.ErrUnexpectedEOF},
		"too large": {"\x01\xff\xff\xff\xff", nil},
	} {
		if _, _, err := receive(bufio.NewReader(bytes.NewReader([]byte(c.text)))); err == nil || c.want != nil && !errors.Is(err, c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestPagesOnTheWire(t *testing.T) {
	data := bytes.Repeat([]byte{3}, pages.Size)
	frame := appendPage(appendPage(appendPage(nil, 5, data), 6, zeros[:]), 1<<30, data)
	if len(frame) != 3*4+2*pages.Size {
		t.Errorf("an empty page has data: %d bytes", len(frame))
	}
	got := map[int][]byte{}
	put := func(page int, data []byte) error {
		got[page] = bytes.Clone(data)
		return nil
	}
	if err := eachPage(frame, put); err != nil || len(got) != 3 || !bytes.Equal(got[5], data) || !bytes.Equal(got[6], zeros[:]) || !bytes.Equal(got[1<<30], data) {
		t.Errorf("%d pages, %v", len(got), err)
	}
	for _, cut := range []int{1, 3, 5, len(frame) - 1} {
		if err := eachPage(frame[:cut], put); err == nil {
			t.Errorf("%d bytes are whole pages", cut)
		}
	}
}

func FuzzFrames(f *testing.F) {
	f.Add([]byte("\x06\x00\x00\x00\x04\x80\x00\x00\x05"))
	f.Fuzz(func(t *testing.T, text []byte) {
		k, payload, err := receive(bufio.NewReader(bytes.NewReader(text)))
		if err != nil {
			return
		}
		var again bytes.Buffer
		if err := (&wire{out: &again}).send(k, payload); err != nil || !bytes.HasPrefix(text, again.Bytes()) {
			t.Errorf("%x is %x again, %v", text, again.Bytes(), err)
		}
		var same []byte
		err = eachPage(payload, func(page int, data []byte) error {
			same = appendPage(same, page, data)
			return nil
		})
		if err == nil && len(same) > len(payload) {
			t.Errorf("%x of pages become %x", payload, same)
		}
		if all, err := parseNumbers(payload); err == nil && !bytes.Equal(numbers(all), payload) {
			t.Errorf("%x are the numbers %d", payload, all)
		}
	})
}

// A lease counts from the instant at which the last answered beat was sent, in whatever order answers come.
func TestLease(t *testing.T) {
	l := newLease(time.Second)
	if l.over() {
		t.Error("it is over at once")
	}
	begin := l.held
	first, second := l.next(), l.next()
	at := func(n int, after time.Duration) { l.sent[n] = begin + after }
	at(first, 100*time.Millisecond)
	at(second, 200*time.Millisecond)
	l.answered(second)
	if l.held != begin+200*time.Millisecond {
		t.Errorf("it counts from %s, want 200ms", l.held-begin)
	}
	l.answered(first)
	l.answered(99)
	if l.held != begin+200*time.Millisecond || len(l.sent) != 0 {
		t.Errorf("late and unknown answers changed it: %s, %d beats wait", l.held-begin, len(l.sent))
	}
	l.held = sinceBoot() - time.Second - time.Millisecond
	if !l.over() {
		t.Error("it lasts longer than its length")
	}
}
