package web

import (
	"fmt"
	"strings"
	"testing"
)

func TestManifest(t *testing.T) {
	got, err := parseManifest([]byte("/0/page.html:10 /0/1.jpg:45\n\n/1/page.html:3\n"))
	if err != nil || fmt.Sprint(got) != "[[/0/page.html /0/1.jpg] [/1/page.html]]" {
		t.Errorf("got %v, %v", got, err)
	}
	for text, want := range map[string]string{"": "lists no page", "/a\n": `line 1: "/a" is not PATH:BYTES`, "/a:1\na:1": "line 2", "/a:x": "line 1"} {
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
