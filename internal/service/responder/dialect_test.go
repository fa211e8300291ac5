package responder

import (
	"bytes"
	"strings"
	"testing"

	"plimsoll/internal/service/webfiles"
)

func dialects() map[string]func() dialect {
	site := newSite(webfiles.Pages{Count: 2, Size: 1000, Images: 2, Seed: 1})
	return map[string]func() dialect{
		"redis":     func() dialect { return &redis{keys: newStore(), settings: map[string]string{"law": "none"}} },
		"memcached": func() dialect { return &memcached{keys: newStore(), counts: &counts{}} },
		"http":      func() dialect { return &plain{site: site} },
	}
}

// answers feeds data in pieces of a size, like a connection.
func answers(d dialect, data string, piece int) (out string, err error) {
	var buffer, answer []byte
	for len(data) > 0 {
		n := min(piece, len(data))
		buffer, data = append(buffer, data[:n]...), data[n:]
		for len(buffer) > 0 {
			used, err := d.next(buffer)
			if err != nil {
				return string(answer), err
			}
			if used == 0 {
				break
			}
			answer, buffer = d.answer(answer), bytes.Clone(buffer[used:])
			if d.last() {
				return string(answer), nil
			}
		}
	}
	return string(answer), nil
}

func TestDialects(t *testing.T) {
	first := newSite(webfiles.Pages{Count: 2, Size: 1000, Images: 2, Seed: 1}).files["/0/page.html"]
	for _, c := range []struct{ dialect, says, hears string }{
		{"redis", "*1\r\n$4\r\nPING\r\n", "+PONG\r\n"},
		{"redis", "PING\r\nset a 1\r\nGET a\r\n", "+PONG\r\n+OK\r\n$1\r\n1\r\n"},
		{"redis", "*3\r\n$3\r\nSET\r\n$1\r\na\r\n$0\r\n\r\n*2\r\n$3\r\nGET\r\n$1\r\na\r\n", "+OK\r\n$0\r\n\r\n"},
		{"redis", "set a 1\r\nset b 2\r\nmget a x b\r\ndel a b c\r\nget a\r\ndbsize\r\n", "+OK\r\n+OK\r\n*3\r\n$1\r\n1\r\n$-1\r\n$1\r\n2\r\n:2\r\n$-1\r\n:0\r\n"},
		{"redis", "set a 1\r\nflushall\r\nget a\r\n", "+OK\r\n+OK\r\n$-1\r\n"},
		{"redis", "config get law\r\nconfig get x\r\nconfig get [\r\n", "*2\r\n$3\r\nlaw\r\n$4\r\nnone\r\n*0\r\n*0\r\n"},
		{"redis", "config get *\r\n", "*6\r\n$10\r\nappendonly\r\n$2\r\nno\r\n$3\r\nlaw\r\n$4\r\nnone\r\n$4\r\nsave\r\n$0\r\n\r\n"},
		{"redis", "dance\r\nget\r\nPING\r\n", "-ERR the responder does not know \"dance\" with 0 arguments\r\n-ERR the responder does not know \"get\" with 0 arguments\r\n+PONG\r\n"},
		{"redis", "\r\n*0\r\nquit\r\nPING\r\n", "+OK\r\n"},
		{"memcached", "version\r\n", "VERSION 0.0.0-plimsoll\r\n"},
		{"memcached", "set a 7 0 3\r\nred\r\nget a\r\nget a b a\r\ngets a\r\n", "STORED\r\nVALUE a 7 3\r\nred\r\nEND\r\nVALUE a 7 3\r\nred\r\nVALUE a 7 3\r\nred\r\nEND\r\nVALUE a 7 3 1\r\nred\r\nEND\r\n"},
		{"memcached", "set a 0 0 2 noreply\r\nok\r\nget a\r\ndelete a noreply\r\nget a\r\n", "VALUE a 0 2\r\nok\r\nEND\r\nEND\r\n"},
		{"memcached", "set a 0 0 0\r\n\r\nget a\r\ndelete a\r\ndelete a\r\n", "STORED\r\nVALUE a 0 0\r\n\r\nEND\r\nDELETED\r\nNOT_FOUND\r\n"},
		{"memcached", "set a -1 0 1\r\nx\r\nget noreply\r\n\r\ndance\r\n", "CLIENT_ERROR bad command line format\r\nEND\r\nERROR\r\nERROR\r\n"},
		{"memcached", "quit\r\nversion\r\n", ""},
		{"http", "GET /0/page.html HTTP/1.1\r\nHost: x\r\n\r\n", string(first.head) + string(first.body)},
		{"http", "HEAD /?q=1 HTTP/1.1\r\nHost: x\r\n\r\n", string(first.head)},
		{"http", "GET /pages.txt HTTP/1.1\r\n\r\n", "HTTP/1.1 200 OK\r\nServer: plimsoll\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: 86\r\n\r\n/0/page.html:100 /0/1.jpg:450 /0/2.jpg:450\n/1/page.html:100 /1/1.jpg:450 /1/2.jpg:450\n"},
		{"http", "GET /none HTTP/1.1\r\n\r\nPOST / HTTP/1.1\r\nContent-Length: 3\r\n\r\nabcGET /none HTTP/1.0\r\n\r\nGET /",
			"HTTP/1.1 404 Not Found\r\nServer: plimsoll\r\nContent-Length: 0\r\n\r\nHTTP/1.1 405 Method Not Allowed\r\nServer: plimsoll\r\nContent-Length: 0\r\n\r\nHTTP/1.1 404 Not Found\r\nServer: plimsoll\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"},
		{"http", "GET /none HTTP/1.1\r\nConnection: Close\r\n\r\n", "HTTP/1.1 404 Not Found\r\nServer: plimsoll\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"},
	} {
		for _, piece := range []int{len(c.says), 1, 3} {
			if got, err := answers(dialects()[c.dialect](), c.says, piece); err != nil || got != c.hears {
				t.Errorf("%s in pieces of %d: %q\n gives %q, %v\nwant %q", c.dialect, piece, c.says, got, err, c.hears)
			}
		}
	}
}

func TestWhatIsNoRequest(t *testing.T) {
	for _, c := range []struct{ dialect, says string }{
		{"redis", "*x\r\n"}, {"redis", "*1\r\n+PING\r\n"}, {"redis", "*1\r\n$4\r\nPINGxx"}, {"redis", "*99999999\r\n"},
		{"redis", "*1\r\n$999999999\r\n"}, {"redis", "*-1\r\n"}, {"redis", "*" + strings.Repeat("1", 40)}, {"redis", strings.Repeat("x", longestHead+1)},
		{"memcached", "set a 0 0 x\r\n"}, {"memcached", "set a 0 0 1\r\nabc\r\n"}, {"memcached", "set a 0 0 999999999\r\n"},
		{"memcached", "set " + strings.Repeat("k", 300) + " 0 0 1\r\n"}, {"memcached", strings.Repeat("x", longestHead+1)},
		{"http", "GET /\r\n\r\n"}, {"http", "GET / HTTP/2.0\r\n\r\n"}, {"http", "GET / HTTP/1.1\r\nx\r\n\r\n"}, {"http", "GET / HTTP/1.1\r\nContent-Length: -1\r\n\r\n"},
		{"http", "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"}, {"http", "POST / HTTP/1.1\r\nContent-Length: 999999999\r\n\r\n"}, {"http", strings.Repeat("x", longestHead+1)},
	} {
		d := dialects()[c.dialect]()
		if _, err := answers(d, c.says, len(c.says)); err == nil {
			t.Errorf("%s: %.40q is taken for a request", c.dialect, c.says)
		}
	}
}

// The responses do not depend on the split of the input, and no dialect consumes more than the
// input.
func FuzzDialects(f *testing.F) {
	f.Add("redis", "*2\r\n$3\r\nGET\r\n$1\r\na\r\nset a b\r\n", 3)
	f.Add("memcached", "set a 0 0 3\r\nred\r\nget a\r\n", 2)
	f.Add("http", "POST / HTTP/1.1\r\nContent-Length: 3\r\n\r\nabcGET / HTTP/1.0\r\n\r\n", 5)
	f.Fuzz(func(t *testing.T, name, data string, piece int) {
		make, ok := dialects()[name]
		// Responses about the process itself differ between calls.
		if lower := strings.ToLower(data); !ok || strings.Contains(lower, "info") || strings.Contains(lower, "stats") {
			return
		}
		d := make()
		if used, err := d.next([]byte(data + "x")[:len(data)+1]); used > len(data)+1 || used < 0 || err != nil && used != 0 {
			t.Fatalf("next uses %d of %d, %v", used, len(data)+1, err)
		}
		whole, err1 := answers(make(), data, max(1, len(data)))
		parts, err2 := answers(make(), data, 1+(piece&0x7fffffff)%64)
		if err1 == nil && err2 == nil && whole != parts {
			t.Errorf("%q is answered with %q, and in pieces with %q", data, whole, parts)
		}
	})
}
