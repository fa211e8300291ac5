package web

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"plimsoll/internal/load"
	"plimsoll/internal/parameter"
)

// made is the workload with settings.
func made(t testing.TB, s parameter.Settings) *web {
	t.Helper()
	l, err := Kind().New(s)
	if err != nil {
		t.Fatal(err)
	}
	return l.(*web)
}

// talk is a dialogue about pages.
func talk(t testing.TB, s parameter.Settings, pages ...page) *dialogue {
	w := made(t, s)
	return newDialogue(w.newTour(pages, "h:1"), w.Pipeline, *rand.NewPCG(1, 2), &sheet{})
}

// answered are the operations that data ends, with what stopped it.
func answered(d *dialogue, data string) string {
	var out []string
	rest := []byte(data)
	for len(rest) > 0 {
		a, used, err := d.Answer(rest)
		rest = rest[used:]
		switch {
		case err != nil:
			return fmt.Sprint(append(out, err.Error()))
		case used == 0:
			return fmt.Sprint(append(out, "more"))
		case a.Slot != load.NoSlot:
			out = append(out, fmt.Sprint([]any{a.Slot, a.Bytes, a.Failed, a.Last}))
		}
	}
	return fmt.Sprint(out)
}

const (
	two    = ok + "Content-Length: 2\r\n\r\nok"
	broken = "HTTP/1.1 500 No\r\nContent-Length: 1\r\n\r\n!"
	last   = ok + "Connection: close\r\nContent-Length: 2\r\n\r\nok"
)

func TestRequests(t *testing.T) {
	for _, c := range []struct {
		settings parameter.Settings
		want     string
	}{
		{nil, "GET /a HTTP/1.1\r\nHost: h:1\r\nUser-Agent: plimsoll\r\n\r\n"},
		{parameter.Settings{"method": "HEAD"}, "HEAD /a HTTP/1.1\r\nHost: h:1\r\nUser-Agent: plimsoll\r\n\r\n"},
		{parameter.Settings{"keepalive": "false"}, "GET /a HTTP/1.1\r\nHost: h:1\r\nUser-Agent: plimsoll\r\nConnection: close\r\n\r\n"},
		{
			parameter.Settings{"headers": parameter.List([]string{"host: www.example.org", "Accept:  text/html "})},
			"GET /a HTTP/1.1\r\nUser-Agent: plimsoll\r\nhost: www.example.org\r\nAccept: text/html\r\n\r\n",
		},
	} {
		d := talk(t, c.settings, page{"/a"})
		if got, class := d.Request([]byte("before"), 0); string(got) != "before"+c.want || class != 0 {
			t.Errorf("%v: got %q, want %q", c.settings, got, c.want)
		}
	}
}

func TestAPageEndsWithItsLastObject(t *testing.T) {
	d := talk(t, parameter.Settings{"unit": "page", "pipeline": "2"}, page{"/a", "/b", "/c"})
	request, _ := d.Request(nil, 0)
	request, _ = d.Request(request, 1)
	if n := strings.Count(string(request), "GET /"); n != 6 || !strings.Contains(string(request), "GET /b HTTP/1.1\r\nHost: h:1\r\n") {
		t.Errorf("%d requests: %q", n, request)
	}
	if got, want := answered(d, two+two+two+two+broken+two), "[[0 6 false false] [1 5 true false]]"; got != want {
		t.Errorf("got %v, want %s", got, want)
	}
	if s := d.sheet; s.classes != [6]int64{0, 0, 5, 0, 0, 1} || s.cut != 0 {
		t.Errorf("%+v", s)
	}
}

func TestAnswersThatFail(t *testing.T) {
	moved := "HTTP/1.1 301 Moved\r\nContent-Length: 0\r\n\r\n"
	gone := "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"
	odd := "HTTP/1.1 700 Odd\r\nContent-Length: 0\r\n\r\n"
	for expect, want := range map[string]string{
		"2xx 3xx":     "[[0 2 false false] [0 0 false false] [0 0 true false] [0 1 true false] [0 0 true false]]",
		"2xx 404":     "[[0 2 false false] [0 0 true false] [0 0 false false] [0 1 true false] [0 0 true false]]",
		"301 4xx 500": "[[0 2 true false] [0 0 false false] [0 0 false false] [0 1 false false] [0 0 true false]]",
	} {
		d := talk(t, parameter.Settings{"expect": parameter.List(strings.Fields(expect))}, page{"/a"})
		if got := answered(d, two+moved+gone+broken+odd); got != want {
			t.Errorf("%s: got %s, want %s", expect, got, want)
		}
	}
}

// A connection ends with a whole visit before the server's limit cuts one short.
func TestAConnectionIsLeftInTime(t *testing.T) {
	d := talk(t, parameter.Settings{"unit": "page", "reuse": "8"}, page{"/a", "/b", "/c"})
	first, _ := d.Request(nil, 0)
	if got := answered(d, two+two+two); strings.Contains(string(first), "close") || got != "[[0 6 false false]]" {
		t.Errorf("%q, %s", first, got)
	}
	second, _ := d.Request(nil, 0)
	if !strings.HasSuffix(string(second), "\r\n\r\nGET /c HTTP/1.1\r\nHost: h:1\r\nUser-Agent: plimsoll\r\nConnection: close\r\n\r\n") || strings.Count(string(second), "close") != 1 {
		t.Errorf("%q", second)
	}
	if got := answered(d, two+two+last); got != "[[0 6 false true]]" {
		t.Error(got)
	}
	for _, s := range []parameter.Settings{{"reuse": "0"}, {"reuse": "2", "pipeline": "2"}} {
		d := talk(t, s, page{"/a"})
		for range 5 {
			if r, _ := d.Request(nil, 0); strings.Contains(string(r), "close") {
				t.Errorf("%v: %q", s, r)
			}
		}
	}
}

func TestAPageThatIsCutShortFails(t *testing.T) {
	d := talk(t, parameter.Settings{"unit": "page"}, page{"/a", "/b", "/c"})
	d.Request(nil, 0)
	if got := answered(d, two+last); got != "[[0 4 true true]]" || d.sheet.cut != 1 {
		t.Errorf("%s, %d cut", got, d.sheet.cut)
	}
}

func TestVisitsAreDrawnBySeedAndAlike(t *testing.T) {
	pages := []page{{"/a"}, {"/b"}, {"/c"}, {"/d"}}
	one, other := talk(t, nil, pages...), talk(t, nil, pages...)
	counts := map[string]int{}
	for range 4000 {
		a, _ := one.Request(nil, 0)
		if b, _ := other.Request(nil, 0); string(a) != string(b) && !strings.Contains(string(a)+string(b), "close") {
			t.Fatalf("%q and %q by the same seed", a, b)
		}
		counts[strings.Fields(string(a))[1]]++
	}
	for path, n := range counts {
		if n < 890 || n > 1110 || len(counts) != 4 { // 4 standard deviations
			t.Errorf("%s is drawn %d times of 4000", path, n)
		}
	}
}

func TestADialogueAllocatesNothing(t *testing.T) {
	for _, s := range []parameter.Settings{nil, {"reuse": "1"}} {
		d := talk(t, s, page{"/a"}, page{"/b"})
		buffer := make([]byte, 0, 4096)
		for _, answer := range []string{two, last, chunked + "2\r\nok\r\n0\r\nTrailer: x\r\n\r\n", "HTTP/1.1 100 Continue\r\n\r\n" + two} {
			data := []byte(answer)
			if n := testing.AllocsPerRun(1000, func() {
				buffer, _ = d.Request(buffer[:0], 0)
				if a, used, err := d.Answer(data); a.Slot != 0 || used != len(data) || err != nil {
					t.Fatal(a, used, err)
				}
			}); n != 0 {
				t.Errorf("%g allocations for a request and the answer %q", n, answer)
			}
		}
	}
}

// usual is what an answer of nginx looks like, with 1 KiB of it.
var usual = []byte("HTTP/1.1 200 OK\r\nServer: nginx/1.22.1\r\nDate: Sat, 21 Nov 2026 09:48:23 GMT\r\nContent-Type: text/html\r\nContent-Length: 1024\r\n" +
	"Last-Modified: Sat, 21 Nov 2026 09:31:00 GMT\r\nConnection: keep-alive\r\nETag: \"6560-400\"\r\nAccept-Ranges: bytes\r\n\r\n" + strings.Repeat("x", 1024))

func BenchmarkDialogue(b *testing.B) {
	d := talk(b, parameter.Settings{"reuse": "0"}, page{"/0/page.html"})
	buffer := make([]byte, 0, 4096)
	b.ReportAllocs()
	for b.Loop() {
		buffer, _ = d.Request(buffer[:0], 0)
		if _, _, err := d.Answer(usual); err != nil {
			b.Fatal(err)
		}
	}
}
