package web

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"

	"plimsoll/internal/load"
)

// seen is what a series of answers came to.
func seen(data []byte, cuts ...int) string {
	var out strings.Builder
	var r response
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
				r = response{}
			}
			if used == 0 && !ended {
				break
			}
		}
	}
	if len(rest) > 0 || r.stage != head {
		fmt.Fprintf(&out, "unfinished")
	}
	return out.String()
}

var answers = []struct{ text, want string }{
	{"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", "200 5 bytes, closing false; "},
	{"HTTP/1.1 200 OK\r\ncONTENT-lENGTH:0\r\n\r\n", "200 0 bytes, closing false; "},
	{"HTTP/1.1 204 No Content\r\n\r\nHTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n", "204 0 bytes, closing false; 304 0 bytes, closing false; "},
	{"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 404 Not Found\r\nConnection: close\r\nContent-Length: 1\r\n\r\n!", "404 1 bytes, closing true; "},
	{"HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\n!", "200 1 bytes, closing true; "},
	{"HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\nContent-Length: 1\r\n\r\n!", "200 1 bytes, closing false; "},
	{"HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n5\r\nhello\r\nA;x=y\r\n0123456789\r\n0\r\n\r\n", "200 15 bytes, closing false; "},
	{"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n!\r\n0\r\nTrailer: x\r\n\r\nHTTP/1.1 200\r\nContent-Length: 2\r\n\r\nok", "200 1 bytes, closing false; 200 2 bytes, closing false; "},
	{"SSH-2.0-OpenSSH", `error: "SSH-2.0-OpenSSH" is no answer of HTTP/1`},
	{"HTTP/1.1 abc\r\n\r\n", `error: "HTTP/1.1 abc" is no status line`},
	{"HTTP/1.1 200 OK\r\n\r\n", "error: an answer whose end only the end of its connection tells"},
	{"HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n", `error: content-length "-5" is not a length`},
	{"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n", `error: content-length "6" is not a length`},
	{"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n", "error: an answer with a content-length and in chunks"},
	{"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n", `error: transfer-encoding "gzip" is not known`},
	{"HTTP/1.1 200 OK\r\nno field\r\n\r\n", `error: "no field" is no header field`},
	{"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n", `error: the size of a chunk: "xyz" is not a number`},
	{"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n!!\r\n", "error: a chunk that is longer than it says"},
	{"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhel", "unfinished"},
}

func TestAnswersInPiecesOfEverySize(t *testing.T) {
	for _, a := range answers {
		if got := seen([]byte(a.text)); got != a.want {
			t.Errorf("%q: got %q, want %q", a.text, got, a.want)
		}
		if strings.HasPrefix(a.want, "error") {
			continue // how much of what is wrong has come decides how it reads
		}
		for cut := range len(a.text) {
			if got := seen([]byte(a.text), cut); got != a.want {
				t.Errorf("%q cut at %d: got %q, want %q", a.text, cut, got, a.want)
			}
		}
		every := make([]int, len(a.text))
		for i := range every {
			every[i] = i
		}
		if got := seen([]byte(a.text), every...); got != a.want {
			t.Errorf("%q byte by byte: got %q, want %q", a.text, got, a.want)
		}
	}
}

func TestAHeadWithoutEnd(t *testing.T) {
	text := "HTTP/1.1 200 OK\r\nX: " + strings.Repeat("x", mostHead+10)
	if got := seen([]byte(text)); !strings.Contains(got, "does not end") {
		t.Errorf("got %.80q", got)
	}
	text = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + strings.Repeat("0", mostHead+10)
	if got := seen([]byte(text)); !strings.Contains(got, "does not end") {
		t.Errorf("got %.80q", got)
	}
}

// What we read, the standard library reads alike; how it comes in pieces changes nothing.
func FuzzAnswers(f *testing.F) {
	for _, a := range answers {
		f.Add([]byte(a.text), 3)
	}
	f.Fuzz(func(t *testing.T, data []byte, cut int) {
		whole := seen(data)
		if strings.Contains(whole, "error") {
			return
		}
		if cut = min(max(cut, 0), len(data)); seen(data, cut) != whole {
			t.Fatalf("cut at %d: %q, whole: %q", cut, seen(data, cut), whole)
		}
		first, _, found := strings.Cut(whole, "; ")
		if !found || strings.Contains(whole, "unfinished") {
			return
		}
		var status, body int
		if _, err := fmt.Sscanf(first, "%d %d bytes", &status, &body); err != nil {
			t.Fatal(err)
		}
		in := bufio.NewReader(bytes.NewReader(data))
		for {
			answer, err := http.ReadResponse(in, &http.Request{Method: http.MethodGet})
			if err != nil {
				return // it is stricter about what does not matter here
			}
			if answer.StatusCode < 200 {
				continue
			}
			got, err := io.ReadAll(answer.Body)
			if err == nil && (answer.StatusCode != status || len(got) != body) {
				t.Fatalf("%q: the library reads %d with %d bytes, we %d with %d", data, answer.StatusCode, len(got), status, body)
			}
			return
		}
	})
}

func TestAPageEndsWithItsLastObject(t *testing.T) {
	asked := visits([]page{{"/a", "/b", "/c"}}, true, false, "h:1")
	d := newDialogue(asked, 2, *rand.NewPCG(1, 2), &sheet{})
	request, _ := d.Request(nil, 0)
	request, _ = d.Request(request, 1)
	if n := strings.Count(string(request), "GET /"); n != 6 || !strings.Contains(string(request), "GET /b HTTP/1.1\r\nHost: h:1\r\n") {
		t.Errorf("%d requests: %q", n, request)
	}
	ok, bad := "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", "HTTP/1.1 500 No\r\nContent-Length: 1\r\n\r\n!"
	data := []byte(ok + ok + ok + ok + bad + ok)
	var got []load.Answer
	for len(data) > 0 {
		a, used, err := d.Answer(data)
		if err != nil || used == 0 {
			t.Fatal(used, err)
		}
		data = data[used:]
		if a.Slot != load.NoSlot {
			got = append(got, a)
		}
	}
	if want := "[{0 6 false false} {1 5 true false}]"; fmt.Sprint(got) != want {
		t.Errorf("got %v, want %s", got, want)
	}
}

func TestADialogueAllocatesNothing(t *testing.T) {
	d := newDialogue(visits([]page{{"/a"}, {"/b"}}, false, false, "h"), 1, *rand.NewPCG(1, 2), &sheet{})
	buffer, answer := make([]byte, 0, 4096), []byte("HTTP/1.1 200 OK\r\nServer: x\r\nContent-Length: 2\r\n\r\nok")
	if n := testing.AllocsPerRun(1000, func() {
		buffer, _ = d.Request(buffer[:0], 0)
		if a, used, err := d.Answer(answer); a.Slot != 0 || used != len(answer) || err != nil {
			t.Fatal(a, used, err)
		}
	}); n != 0 {
		t.Errorf("%g allocations for a request and its answer", n)
	}
}

func TestManifest(t *testing.T) {
	got, err := parsePages([]byte("/0/page.html:10 /0/1.jpg:45\n\n/1/page.html:3\n"))
	if err != nil || fmt.Sprint(got) != "[[/0/page.html /0/1.jpg] [/1/page.html]]" {
		t.Errorf("got %v, %v", got, err)
	}
	for text, want := range map[string]string{"": "lists no page", "/a\n": `line 1: "/a" is not PATH:BYTES`, "/a:1\na:1": "line 2", "/a:x": "line 1"} {
		if _, err := parsePages([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}
