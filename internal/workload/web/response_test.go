package web

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
)

// seen is what a series of answers came to, in the pieces that end at the cuts.
func seen(data []byte, bodiless bool, cuts ...int) string {
	var out strings.Builder
	r := response{bodiless: bodiless}
	var rest []byte
	at := 0
	for _, cut := range append(cuts, len(data)) {
		rest = append(rest, data[at:cut]...)
		at = cut
		for len(rest) > 0 {
			used, ended, err := r.read(rest)
			rest = rest[used:]
			if err != nil {
				return out.String() + "error: " + err.Error()
			}
			if ended {
				fmt.Fprintf(&out, "%d %d bytes, closing %v; ", r.status, r.body, r.closing)
				r = response{bodiless: bodiless}
			}
			if used == 0 && !ended {
				break
			}
		}
	}
	if len(rest) > 0 || r.stage != inStatus || r.interims > 0 {
		fmt.Fprintf(&out, "unfinished")
	}
	return out.String()
}

const (
	ok      = "HTTP/1.1 200 OK\r\n"
	chunked = ok + "Transfer-Encoding: chunked\r\n\r\n"
)

var answers = []struct{ text, want string }{
	{ok + "Content-Length: 5\r\n\r\nhello", "200 5 bytes, closing false; "},
	{ok + "cONTENT-lENGTH:0\r\n\r\n", "200 0 bytes, closing false; "},
	{ok + "Content-Length: \t 5 \t\r\nContent-Length: 5\r\n\r\nhello", "200 5 bytes, closing false; "},
	{"HTTP/1.1 204 No Content\r\n\r\nHTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n", "204 0 bytes, closing false; 304 0 bytes, closing false; "},
	{"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 404 Not Found\r\nConnection: close\r\nContent-Length: 1\r\n\r\n!", "404 1 bytes, closing true; "},
	{"HTTP/1.1 103 Early Hints\r\nConnection: close\r\nLink: </a>\r\n\r\n" + ok + "Content-Length: 0\r\n\r\n", "200 0 bytes, closing false; "},
	{"HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\n!", "200 1 bytes, closing true; "},
	{"HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\nContent-Length: 1\r\n\r\n!", "200 1 bytes, closing false; "},
	{"HTTP/1.0 200 OK\r\nConnection: Keep-Alive, close\r\nContent-Length: 1\r\n\r\n!", "200 1 bytes, closing true; "},
	{ok + "Connection: x, CLOSE ,y\r\nConnection: keep-alive\r\nContent-Length: 0\r\n\r\n", "200 0 bytes, closing true; "},
	{ok + "Connection: closed\r\nContent-Length: 0\r\n\r\n", "200 0 bytes, closing false; "},
	{ok + "Transfer-Encoding: Chunked\r\n\r\n5\r\nhello\r\nA;x=y\r\n0123456789\r\n0\r\n\r\n", "200 15 bytes, closing false; "},
	{chunked + "1 \r\n!\r\n000\r\nTrailer: x\r\nAnother:\r\n\r\nHTTP/1.1 200\r\nContent-Length: 2\r\n\r\nok", "200 1 bytes, closing false; 200 2 bytes, closing false; "},
	{ok + "Content-Length: 5\r\n\r\nhel", "unfinished"},
	{ok + "Content-Le", "unfinished"},
	{chunked + "5\r\nhello\r", "unfinished"},
	{chunked + "0\r\n", "unfinished"},
	{"HTTP/1.1 102 Processing\r\n\r\n", "unfinished"},

	{"SSH-2.0-OpenSSH", `error: "SSH-2.0-OpenSSH" is not an HTTP/1.1 response`},
	{"\r\n" + ok, `error: "\r\n" is not an HTTP/1.1 response`},
	{"HTTP/1.1 abc\r\n\r\n", `error: "HTTP/1.1 abc" is not a status line`},
	{"HTTP/1.1 099 Low\r\n\r\n", `error: "HTTP/1.1 099 Low" is not a status line`},
	{"HTTP/1.1 20\r\n\r\n", `error: "HTTP/1.1 20" is not a status line`},
	{"HTTP/1.1 2000 OK\r\n\r\n", `error: "HTTP/1.1 2000 OK" is not a status line`},
	{"HTTP/1.2 200 OK\r\n\r\n", `error: "HTTP/1.2 200 OK" is not a status line`},
	{"HTTP/1.\r\n\r\n", `error: "HTTP/1." is not a status line`},
	{"HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\n\r\n", "error: the server switched protocols unexpectedly"},
	{ok + "\r\n", "error: " + errEndless.Error()},
	{ok + "Content-Length: -5\r\n\r\n", `error: content-length: "-5" is not a number`},
	{ok + "Content-Length: +5\r\n\r\n", `error: content-length: "+5" is not a number`},
	{ok + "Content-Length:\r\n\r\n", `error: content-length: a number is missing`},
	{ok + "Content-Length: 99999999999999999999\r\n\r\n", `error: content-length: "99999999999999999999" is too large`},
	{ok + "Content-Length: 5\r\nContent-Length: 6\r\n\r\n", `error: conflicting Content-Length: 5 and 6`},
	{ok + "Content-Length: 5, 5\r\n\r\n", `error: content-length: "5, 5" is not a number`},
	{ok + "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n", "error: a response with both Content-Length and chunked encoding"},
	{"HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "error: a chunked HTTP/1.0 response"},
	{ok + "Transfer-Encoding: gzip\r\n\r\n", `error: unsupported Transfer-Encoding "gzip"`},
	{ok + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n", `error: unsupported Transfer-Encoding "chunked"`},
	{ok + "no field\r\n\r\n", `error: "no field" is not a header field`},
	{ok + "Name : x\r\n\r\n", `error: "Name : x" is not a header field`},
	{ok + ": x\r\n\r\n", `error: ": x" is not a header field`},
	{ok + "A: x\r\n folded\r\n\r\n", `error: " folded" is not a header field`},
	{ok + "A: x\x00y\r\n\r\n", `error: "A: x\x00y\r\n" has a control character, which parsers interpret differently`},
	{ok + "A: x\nContent-Length: 0\r\n\r\n", `error: "A: x\n" ends without a carriage return, which parsers interpret differently`},
	{"HTTP/1.1 200 OK\n\n", `error: "HTTP/1.1 200 OK\n" ends without a carriage return, which parsers interpret differently`},
	{ok + "\n", `error: "\n" ends without a carriage return, which parsers interpret differently`},
	{ok + "A: x\rContent-Length: 0\r\n\r\n", `error: "A: x\rContent-Length: 0\r\n" has a control character, which parsers interpret differently`},
	{chunked + "xyz\r\n", `error: the size of a chunk: "xyz" is not a number`},
	{chunked + " 1\r\n", `error: the size of a chunk: " 1" is not a number`},
	{chunked + "\r\n", "error: the size of a chunk: a number is missing"},
	{chunked + "ffffffffffffffff\r\n", `error: the size of a chunk: "ffffffffffffffff" is too large`},
	{chunked + "1;\n\r\n", `error: "1;\n" ends without a carriage return, which parsers interpret differently`},
	{chunked + "1\r\n!!\r\n", "error: " + errChunk.Error()},
	{chunked + "0\r\nno field\r\n\r\n", `error: "no field" is not a header field`},
}

func TestAnswersInPiecesOfEverySize(t *testing.T) {
	for _, a := range answers {
		if got := seen([]byte(a.text), false); got != a.want {
			t.Errorf("%q: got %q, want %q", a.text, got, a.want)
		}
		check := func(how string, cuts ...int) {
			got := seen([]byte(a.text), false, cuts...)
			if strings.HasPrefix(a.want, "error") { // how much has come decides how it reads
				if !strings.HasPrefix(got, "error") {
					t.Errorf("%q %s: got %q, want an error", a.text, how, got)
				}
				return
			}
			if got != a.want {
				t.Errorf("%q %s: got %q, want %q", a.text, how, got, a.want)
			}
		}
		every := make([]int, len(a.text))
		for i := range every {
			every[i] = i
			check(fmt.Sprint("cut at ", i), i)
		}
		check("byte by byte", every...)
	}
}

func TestControlCharacters(t *testing.T) {
	for n := range 20 {
		for at := range n {
			for c := range 256 {
				text := bytes.Repeat([]byte("\xe9 z"), 7)[:n]
				text[at] = byte(c)
				if want := c >= ' ' || c == '\t'; clean(text) != want {
					t.Fatalf("%q is clean: %v, want %v", text, !want, want)
				}
			}
		}
	}
}

func TestHeadsWithoutBodies(t *testing.T) {
	text := ok + "Content-Length: 5\r\n\r\n" + chunked + ok + "\r\n"
	want := strings.Repeat("200 0 bytes, closing false; ", 3)
	for cut := range len(text) {
		if got := seen([]byte(text), true, cut); got != want {
			t.Errorf("cut at %d: got %q, want %q", cut, got, want)
		}
	}
}

// A limit is the same however the bytes come.
func TestLimits(t *testing.T) {
	long := func(n int) string { return strings.Repeat("x", n) }
	room := mostHead - len(ok) - len("X: \r\n\r\n")
	trailer := strings.Repeat("X: "+long(995)+"\r\n", mostHead/1000)
	for _, c := range []struct{ text, want string }{
		{"HTTP/1.1 204 \r\nX: " + long(room+len(ok)-len("HTTP/1.1 204 \r\n")) + "\r\n\r\n", "204 0 bytes, closing false; "},
		{"HTTP/1.1 204 \r\nX: " + long(room+len(ok)-len("HTTP/1.1 204 \r\n")+1) + "\r\n\r\n", "error: " + errHead.Error()},
		{ok + "X: " + long(2*mostHead), "error: " + errHead.Error()},
		{chunked + "0;" + long(mostHead-4) + "\r\n\r\n", "200 0 bytes, closing false; "},
		{chunked + "0;" + long(mostHead-3) + "\r\n\r\n", "error: " + errLine.Error()},
		{chunked + "0;" + long(2*mostHead), "error: " + errLine.Error()},
		{chunked + "0\r\n" + trailer + "\r\n", "200 0 bytes, closing false; "},
		{chunked + "0\r\n" + trailer + trailer + "\r\n", "error: " + errTrailer.Error()},
		{strings.Repeat("HTTP/1.1 102 \r\n\r\n", mostInterims) + "HTTP/1.1 204 \r\n\r\n", "204 0 bytes, closing false; "},
		{strings.Repeat("HTTP/1.1 102 \r\n\r\n", mostInterims+1), "error: " + errInterims.Error()},
	} {
		for _, cuts := range [][]int{nil, {len(c.text) - 1}, {len(c.text) - 2}, {len(c.text) - 3, len(c.text) - 2}, {10, len(c.text) / 2}} {
			if got := seen([]byte(c.text), false, cuts...); got != c.want {
				t.Errorf("%.60q cut at %v: got %.80q, want %q", c.text, cuts, got, c.want)
			}
		}
	}
}

// library is what the standard library makes of the first answer that counts.
func library(data []byte, bodiless bool) (status int, body int64, err error) {
	in := bufio.NewReader(bytes.NewReader(data))
	method := http.MethodGet
	if bodiless {
		method = http.MethodHead
	}
	for {
		answer, err := http.ReadResponse(in, &http.Request{Method: method})
		if err != nil {
			return 0, 0, err
		}
		switch {
		case answer.StatusCode < 100:
			return 0, 0, fmt.Errorf("status %d", answer.StatusCode)
		case answer.StatusCode < 200:
			continue
		}
		n, err := io.Copy(io.Discard, answer.Body)
		return answer.StatusCode, n, err
	}
}

// stricter are refusals that the library does not share, all of them on purpose:
// readers differ about such answers.
var stricter = []string{
	"chunked", "parsers interpret differently", errEndless.Error(), "Transfer-Encoding", "is not an HTTP/1.1 response",
	"is not a header field", "is not a status line", // blanks where none may be, lines that go on in the next
	"changes to another protocol", "is too large", errTrailer.Error(), errInterims.Error(), errHead.Error(), errLine.Error(),
}

// compare holds what is read here against what the library reads.
func compare(t *testing.T, data []byte, bodiless bool) {
	t.Helper()
	ours := seen(data, bodiless)
	status, body, err := library(data, bodiless)
	var s int
	var b int64
	if n, _ := fmt.Sscanf(ours, "%d %d bytes", &s, &b); n == 2 {
		if err == nil && (s != status || b != body) {
			t.Errorf("%q: the library reads %d with %d bytes, we %d with %d", data, status, body, s, b)
		}
		return
	}
	if err != nil {
		return
	}
	for _, reason := range stricter {
		if strings.Contains(ours, reason) {
			return
		}
	}
	t.Errorf("%q: the library reads %d with %d bytes, we say %q", data, status, body, ours)
}

func TestTheLibraryReadsAlike(t *testing.T) {
	for _, a := range answers {
		compare(t, []byte(a.text), false)
		compare(t, []byte(a.text), true)
	}
}

// What we read, the standard library reads alike; how it comes in pieces changes nothing.
func FuzzAnswers(f *testing.F) {
	for _, a := range answers {
		f.Add([]byte(a.text), 3, 9, false)
		f.Add([]byte(a.text), 1, 30, true)
	}
	f.Fuzz(func(t *testing.T, data []byte, one, two int, bodiless bool) {
		whole := seen(data, bodiless)
		one = min(max(one, 0), len(data))
		two = min(max(two, one), len(data))
		pieces := seen(data, bodiless, one, two)
		if strings.Contains(whole, "error") != strings.Contains(pieces, "error") || !strings.Contains(whole, "error") && pieces != whole {
			t.Fatalf("cut at %d and %d: %q, whole: %q", one, two, pieces, whole)
		}
		compare(t, data, bodiless)
	})
}
