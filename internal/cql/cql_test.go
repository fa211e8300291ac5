package cql

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"plimsoll/internal/wire"
	"strings"
	"testing"
	"time"
)

// The vectors are the published ones of MurmurHash3 x64 128, first half.
func TestMurmur(t *testing.T) {
	for _, c := range []struct {
		key  string
		want uint64
	}{
		{"", 0}, {"hello", 0xcbd8a7b341bd9b02}, {"hello, world", 0x342fac623a5ebc8e},
		{"19 Jan 2038 at 3:14:07 AM", 0xb89e5988b737affc}, {"The quick brown fox jumps over the lazy dog.", 0xcd99481f9ee902c9},
	} {
		if got := uint64(Murmur3F([]byte(c.key))); got != c.want {
			t.Errorf("the hash of %q is %#x, not %#x", c.key, got, c.want)
		}
		if got := uint64(Token([]byte(c.key))); got != c.want {
			t.Errorf("the token of %q is %#x, not %#x", c.key, got, c.want)
		}
	}
	// What a server says of its own row, SELECT key, token(key) FROM system.local.
	if got := Token([]byte("local")); got != -7564491331177403445 {
		t.Errorf("the token of local is %d", got)
	}
	// A byte above 127 behind the last block counts with its sign.
	if key := []byte{0xff, 1, 0xfe}; Token(key) == Murmur3F(key) {
		t.Error("the token of a key with bytes above 127 is that of MurmurHash3")
	}
}

// The header's checksum is that of the example in Cassandra's tests: a frame that is
// whole, of 5 bytes.
func TestChecksums(t *testing.T) {
	b := make([]byte, frameHead)
	b = closeFrame(append(b, "hello"...), 0)
	payload, alone, err := openFrame(b)
	if err != nil || string(payload) != "hello" || !alone {
		t.Fatalf("got %q, %t, %v", payload, alone, err)
	}
	for i := range b {
		bad := bytes.Clone(b)
		bad[i] ^= 0x10
		if p, _, err := openFrame(bad); err == nil && p != nil {
			t.Errorf("byte %d is changed, and nobody notices", i)
		}
	}
	for n := range len(b) {
		if p, _, err := openFrame(b[:n]); p != nil || err != nil {
			t.Errorf("%d bytes of %d give %q, %v", n, len(b), p, err)
		}
	}
}

// said is a message as a server sends it.
func said(v Version, code Opcode, stream int, body []byte) []byte {
	b := []byte{byte(v) | response, 0, byte(stream >> 8), byte(stream), byte(code), 0, 0, 0, 0}
	binary.BigEndian.PutUint32(b[5:], uint32(len(body)))
	return append(b, body...)
}

// framed puts messages into outer frames of at most so many bytes each.
func framed(messages []byte, most int) []byte {
	if len(messages) <= most {
		return closeFrame(append(make([]byte, frameHead), messages...), 0)
	}
	var b []byte
	for len(messages) > 0 {
		n := min(len(messages), most)
		at := len(b)
		b = append(append(b, make([]byte, frameHead)...), messages[:n]...)
		putHead(b[at:], n, false)
		b = binary.LittleEndian.AppendUint32(b, crcPayload(messages[:n]))
		messages = messages[n:]
	}
	return b
}

// However the bytes arrive, the messages are the same.
func TestReaderOfPieces(t *testing.T) {
	long := bytes.Repeat([]byte("0123456789"), 30_000)
	for _, v := range []Version{V4, V5} {
		var wire []byte
		var want []string
		add := func(most int, bodies ...string) {
			var all []byte
			for _, body := range bodies {
				all = append(all, said(v, opResult, len(want), []byte(body))...)
				want = append(want, body)
			}
			if v == V5 {
				all = framed(all, most)
			}
			wire = append(wire, all...)
		}
		add(mostPayload, "one")
		add(mostPayload, "two", "", "three")
		add(1000, string(long[:5000]))
		add(mostPayload, string(long))
		add(mostPayload, "last")
		for _, piece := range []int{1, 7, 100, 1 << 20} {
			r := newReader(v)
			if v == V5 {
				r.Frame()
			}
			var have []byte
			got := 0
			for rest := wire; len(rest) > 0 || len(have) > 0; {
				n := min(piece, len(rest))
				have, rest = append(have, rest[:n]...), rest[n:]
				for {
					m, used, err := r.Next(have)
					if err != nil {
						t.Fatal(err)
					}
					if used == 0 {
						break
					}
					if m.Body != nil {
						if m.Stream != got || string(m.Body) != want[got] {
							t.Fatalf("version %d, pieces of %d: message %d is %d: %.20q", v, piece, got, m.Stream, m.Body)
						}
						got++
					}
					have = have[used:]
				}
				if n == 0 && len(have) > 0 {
					t.Fatalf("%d bytes are left", len(have))
				}
				if len(have) > 400_000 {
					t.Fatal("a message does not end")
				}
				if piece == 1 && len(want) == 7 && got == 4 {
					break // the long ones, byte for byte, take too long
				}
			}
			if got != len(want) && piece > 1 {
				t.Errorf("version %d, pieces of %d: %d messages of %d", v, piece, got, len(want))
			}
		}
	}
}

func TestWhatIsNoCassandra(t *testing.T) {
	for _, c := range []struct{ data, want string }{
		{"HTTP/1.1 400 Bad Request\r\n", "does not speak the protocol"},
		{string(said(V5, opError, 0, []byte("\x00\x00\x00\x0a\x00\x03bad"))), "speaks version 5 of the protocol and not 4: set protocol"},
		{"\x84\x00\x00\x00\x08\xff\xff\xff\xff", "a message of"},
	} {
		if _, _, err := newReader(V4).Next([]byte(c.data)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q gives %v", c.data, err)
		}
	}
}

// server is a Cassandra of few words, that knows one user.
type server struct {
	version Version
	user    Account
	answers func(query string) []byte
}

func (s server) listen(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go s.serve(conn)
		}
	}()
	return l.Addr().String()
}

// serve reads requests as a server must: their version has no bit for a response, and
// outer frames begin after the first answer.
func (s server) serve(conn net.Conn) {
	defer conn.Close()
	outer := false
	for {
		var head [headLength]byte
		var body []byte
		if outer {
			var before [frameHead]byte
			if _, err := io.ReadFull(conn, before[:]); err != nil {
				return
			}
			n := (int(before[0]) | int(before[1])<<8 | int(before[2])<<16) & mostPayload
			rest := make([]byte, n+trailer)
			if _, err := io.ReadFull(conn, rest); err != nil {
				return
			}
			payload, _, err := openFrame(append(before[:], rest...))
			if err != nil {
				return
			}
			copy(head[:], payload)
			body = payload[headLength:]
		} else {
			if _, err := io.ReadFull(conn, head[:]); err != nil {
				return
			}
			body = make([]byte, binary.BigEndian.Uint32(head[5:]))
			if _, err := io.ReadFull(conn, body); err != nil {
				return
			}
		}
		code, answer := s.answer(Opcode(head[4]), body)
		b := said(s.version, code, int(binary.BigEndian.Uint16(head[2:])), answer)
		if outer {
			b = framed(b, mostPayload)
		}
		if _, err := conn.Write(b); err != nil {
			return
		}
		outer = s.version == V5
	}
}

func (s server) answer(code Opcode, body []byte) (Opcode, []byte) {
	fault := func(code int, text string) (Opcode, []byte) {
		return opError, appendShort(binary.BigEndian.AppendUint32(nil, uint32(code)), text)
	}
	switch code {
	case opStartup:
		if s.user.User == "" {
			return opReady, nil
		}
		return opAuthenticate, appendShort(nil, "org.apache.cassandra.auth.PasswordAuthenticator")
	case opAuthAnswer:
		if string(body[4:]) != "\x00"+s.user.User+"\x00"+s.user.Password {
			return fault(BadCredentials, "Provided username and/or password are incorrect")
		}
		return opAuthSuccess, []byte{0xff, 0xff, 0xff, 0xff}
	case opPrepare:
		b := appendShort(binary.BigEndian.AppendUint32(nil, resultPrepared), []byte("id"))
		if s.version == V5 {
			b = appendShort(b, []byte("result"))
		}
		return opResult, b
	case opExecute, opQuery:
		n := int(binary.BigEndian.Uint32(body))
		if code == opQuery && s.answers != nil {
			return opResult, s.answers(string(body[4 : 4+n]))
		}
		return opResult, []byte{0, 0, 0, resultVoid}
	}
	return fault(ProtocolError, fmt.Sprint("kind ", code))
}

// table is a result of rows with one column of each given kind.
func table(kinds []byte, rows ...[][]byte) []byte {
	b := []byte{0, 0, 0, resultRows, 0, 0, 0, metadataGlobal, 0, 0, 0, byte(len(kinds))}
	b = appendShort(appendShort(b, "k"), "t")
	for i, kind := range kinds {
		b = append(appendShort(b, fmt.Sprint("c", i)), 0, kind)
	}
	b = binary.BigEndian.AppendUint32(b, uint32(len(rows)))
	for _, row := range rows {
		for _, v := range row {
			if v == nil {
				b = append(b, 0xff, 0xff, 0xff, 0xff)
				continue
			}
			b = AppendBytes(b, v)
		}
	}
	return b
}

func TestConn(t *testing.T) {
	file := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(file, []byte("sesame\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, v := range []Version{V4, V5} {
		s := server{version: v, user: Account{User: "ali", Password: "sesame"}, answers: func(query string) []byte {
			return table([]byte{kindBigint, 0x0d, kindBoolean}, [][]byte{{0, 0, 0, 0, 0, 0, 1, 0}, []byte(query), nil}, [][]byte{nil, {}, {1}})
		}}
		at := Target{Target: wire.Target{Network: "tcp", Address: s.listen(t), User: "ali", Secret: "file:" + file}, Version: v}
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		c, err := Dial(ctx, at)
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			rows, err := c.Query(ctx, "SELECT open")
			if err != nil || fmt.Sprint(rows) != "[[256 SELECT open ] [  true]]" {
				t.Errorf("version %d: %q, %v", v, rows, err)
			}
		}
		c.Close()
		at.Secret = ""
		if _, err := Dial(ctx, at); !Is(err, BadCredentials) || strings.Contains(err.Error(), "\n") {
			t.Errorf("version %d: a wrong password gives %v", v, err)
		}
		at.User = ""
		if _, err := Dial(ctx, at); err == nil || !strings.Contains(err.Error(), "set user, and password by reference") {
			t.Errorf("version %d: no user gives %v", v, err)
		}
	}
	if _, err := Dial(t.Context(), Target{Target: wire.Target{Network: "tcp", Address: "127.0.0.1:1"}}); !wire.Gone(err) {
		t.Errorf("no server gives %v", err)
	}
}

// What a session appends for an execution is what the specification says, and costs no
// allocation.
func TestExecute(t *testing.T) {
	for _, v := range []Version{V4, V5} {
		s := NewSession(v, Account{}, []Statement{{Text: "a", Parameters: 0}, {Text: "b", Parameters: 2, Consistency: 6}}, "")
		fake := server{version: v}
		b := s.AppendStart(nil)
		for outer := false; !s.Serving(); outer = v == V5 {
			for len(b) > 0 {
				one := b
				if outer {
					payload, _, err := openFrame(b)
					if err != nil || payload == nil {
						t.Fatalf("version %d: %q, %v", v, b, err)
					}
					one, b = payload, b[frameHead+len(payload)+trailer:]
				} else {
					n := headLength + int(binary.BigEndian.Uint32(b[5:]))
					one, b = b[:n:n], b[n:]
				}
				code, body := fake.answer(Opcode(one[4]), one[headLength:])
				answer := said(v, code, int(binary.BigEndian.Uint16(one[2:])), body)
				if outer {
					answer = framed(answer, mostPayload)
				}
				m, used, err := s.Next(answer)
				if err != nil || used != len(answer) {
					t.Fatalf("version %d: %d of %d used, %v", v, used, len(answer), err)
				}
				if err := s.Hear(m); err != nil {
					t.Fatal(err)
				}
			}
			if b = s.AppendNext(nil); len(b) == 0 && !s.Serving() {
				t.Fatalf("version %d: it has nothing to say", v)
			}
		}
		execute := func(b []byte) []byte {
			b, place := s.AppendExecute(b, 1, 0x1234)
			b = AppendLong(b, 7)
			b = AppendBytes(b, "xy")
			return s.End(b, place)
		}
		got := execute([]byte("before"))[len("before"):]
		want := "\x04\x00\x12\x34\x0a\x00\x00\x00\x1b\x00\x02id\x00\x06\x03\x00\x02\x00\x00\x00\x08\x00\x00\x00\x00\x00\x00\x00\x07\x00\x00\x00\x02xy"
		if v == V5 {
			want = "\x05\x00\x12\x34\x0a\x00\x00\x00\x26\x00\x02id\x00\x06result\x00\x06\x00\x00\x00\x03\x00\x02\x00\x00\x00\x08\x00\x00\x00\x00\x00\x00\x00\x07\x00\x00\x00\x02xy"
			payload, alone, err := openFrame(got)
			if err != nil || !alone {
				t.Fatalf("the frame is %q, %v", got, err)
			}
			got = payload
		}
		if string(got) != want {
			t.Errorf("version %d: %q instead of %q", v, got, want)
		}
		buffer := make([]byte, 0, 200)
		if n := testing.AllocsPerRun(100, func() { execute(buffer) }); n > 0 {
			t.Errorf("version %d: an execution allocates %g times", v, n)
		}
	}
}

func TestRows(t *testing.T) {
	body := table([]byte{kindInt, 0x0d}, [][]byte{{0, 0, 0, 1}, []byte("x")}, [][]byte{{0, 0, 0, 2}, nil})
	r, err := ReadRows(body)
	if err != nil || r.Left != 2 || r.Columns != 2 || string(r.Value()) != "\x00\x00\x00\x01" || string(r.Value()) != "x" || r.Err() != nil {
		t.Errorf("got %+v, %v", r, err)
	}
	for n := range len(body) {
		r, err := ReadRows(body[:n])
		if err == nil {
			err = r.Skip()
		}
		if !errors.Is(err, errCut) {
			t.Errorf("%d bytes of %d give %v", n, len(body), err)
		}
	}
	if r, err = ReadRows([]byte{0, 0, 0, resultVoid}); err == nil && r.Left != 0 {
		t.Errorf("no rows are %+v, %v", r, err)
	}
}

func FuzzReader(f *testing.F) {
	f.Add([]byte("\x84\x00\x00\x01\x08\x00\x00\x00\x04\x00\x00\x00\x01"), false)
	f.Add(framed(said(V5, opResult, 3, table([]byte{kindInt}, [][]byte{{0, 0, 0, 1}})), mostPayload), true)
	f.Add(framed(said(V5, opError, 3, []byte("\x00\x00\x10\x00\x00\x02no")), 9), true)
	f.Add(said(V4, opResult, 3, table([]byte{kindUUID, 0x0d}, [][]byte{nil, nil})), false)
	f.Fuzz(func(t *testing.T, data []byte, outer bool) {
		r := newReader(V4)
		if outer {
			r = newReader(V5)
			r.Frame()
		}
		for range 100 {
			m, used, err := r.Next(data)
			if err != nil || used == 0 {
				return
			}
			if used < 0 || used > len(data) {
				t.Fatalf("%d bytes of %d were used", used, len(data))
			}
			if rows, err := ReadRows(m.Body); err == nil {
				_ = rows.Skip()
			}
			_, _ = readTexts(m.Body)
			_ = ReadFault(m.Body).Error()
			data = data[used:]
		}
	})
}

// What a server says stays on one line and steers no terminal.
func TestFaultIsOneLine(t *testing.T) {
	for code, want := range map[int]string{syntax: `no\nplimsoll: done\u001b[2J (syntax)`, 0x9999: `no\nplimsoll: done\u001b[2J (0x9999)`} {
		if got := (&Fault{Code: code, Message: "no\nplimsoll: done\x1b[2J"}).Error(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
