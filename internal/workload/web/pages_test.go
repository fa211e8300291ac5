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

func TestManifest(t *testing.T) {
	got, err := parseManifest([]byte("/0/page.html:10 /0/1.jpg:45\n\n/1/page.html:3\n"))
	if err != nil || fmt.Sprint(got) != "[[/0/page.html /0/1.jpg] [/1/page.html]]" {
		t.Errorf("got %v, %v", got, err)
	}
	for text, want := range map[string]string{"": "no pages are listed", "/a\n": `line 1: "/a" is not PATH:BYTES`, "/a:1\na:1": "line 2", "/a:x": "line 1"} {
		if _, err := parseManifest([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

func FuzzManifest(f *testing.F) {
	f.Add([]byte("/0/page.html:10 /0/1.jpg:45\n\n/1/page.html:3\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		pages, err := parseManifest(text)
		for _, p := range pages {
			for _, path := range p {
				if err != nil || len(p) == 0 || checkPath(path) != nil {
					t.Errorf("%q is read as %q, %v", text, pages, err)
				}
			}
		}
	})
}

func TestPagesOfAStudy(t *testing.T) {
	got, err := parsePages([]string{"/a.html /1.png  /2.png?x=1", "/b"})
	if err != nil || fmt.Sprint(got) != "[[/a.html /1.png /2.png?x=1] [/b]]" {
		t.Errorf("got %v, %v", got, err)
	}
	for _, text := range []string{"", " ", "a", "/a b", "/a\r\nX:", "/é", "/a#b", "http://h/"} {
		if _, err := parsePages([]string{"/ok", text}); err == nil {
			t.Errorf("%q passes as a page", text)
		}
	}
}

// Whatever a study says, a request is what it should be, and a status between 200 and
// 599.
func FuzzSettings(f *testing.F) {
	f.Add("/a.html /1.png", "Accept: text/html", "2xx")
	f.Add("/b", "Host:  h ", "404")
	f.Fuzz(func(t *testing.T, paths, header, expect string) {
		w := &web{}
		var errs [3]error
		w.pages, errs[0] = parsePages([]string{paths})
		w.extra, errs[1] = parseHeader([]string{header})
		w.expected, errs[2] = parseStatuses([]string{expect})
		if errs[2] == nil {
			for status, expected := range w.expected {
				if expected && (status < 200 || status > 599) {
					t.Errorf("%q expects status %d", expect, status)
				}
			}
		}
		if errs[0] != nil || errs[1] != nil {
			return
		}
		w.Parameters = defaults()
		w.Unit = "page"
		requests := bufio.NewReader(bytes.NewReader(w.newTour(w.pages, "h:1").visits[0].requests))
		for _, path := range w.pages[0] {
			r, err := http.ReadRequest(requests)
			if err != nil {
				if strings.Contains(err.Error(), "invalid URL escape") || strings.Contains(err.Error(), "malformed Host") || strings.Contains(err.Error(), "parse ") {
					return // for the server to judge
				}
				t.Fatalf("%q, %q: %v", paths, header, err)
			}
			if r.Method != "GET" || r.RequestURI != path || r.ContentLength != 0 || r.Close {
				t.Errorf("%q, %q: %+v", paths, header, r)
			}
		}
		if left, _ := io.ReadAll(requests); len(left) > 0 {
			t.Errorf("%q, %q: more is asked: %q", paths, header, left)
		}
	})
}
