package page

import (
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
)

func TestPages(t *testing.T) {
	t.Parallel()
	s, err := Serve(t.Context(), 7)
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{}
	get := func(address string) (int, string) {
		r, err := client.Get(address)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Body.Close()
		text, err := io.ReadAll(r.Body)
		if err != nil {
			t.Fatal(err)
		}
		return r.StatusCode, string(text)
	}
	status, text := get(s.Address(3))
	if status != http.StatusOK || !strings.Contains(text, "desktop 3 ") || strings.Contains(text, "%!") || strings.Contains(text, s.Title(3)) {
		t.Errorf("%d: %s", status, text)
	}
	if s.Title(3) == s.Title(4) {
		t.Error("two pages have one title")
	}
	if status, _ := get(strings.TrimSuffix(s.Address(3), "3") + "x"); status != http.StatusNotFound {
		t.Errorf("a page that is none: %d", status)
	}
	if err := s.Answers(t.Context()); err != nil {
		t.Error(err)
	}
	client.CloseIdleConnections()
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if err := s.Answers(t.Context()); err == nil || !strings.Contains(err.Error(), "page server is gone") {
		t.Errorf("a server that is gone: %v", err)
	}
}

// A port is taken by whoever asks for it next.
func TestAnotherServerOnThePort(t *testing.T) {
	t.Parallel()
	s, err := Serve(t.Context(), 7)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	own := *s
	own.seed = 8
	if err := own.Answers(t.Context()); err == nil || !strings.Contains(err.Error(), "another server answers") {
		t.Errorf("a server with another seed: %v", err)
	}
}

// The script in a browser and the server agree about the title.
func TestTitleInABrowser(t *testing.T) {
	if os.Getenv("PLIMSOLL_REAL") == "" {
		t.Skip("set PLIMSOLL_REAL=1 to open a page in Chromium")
	}
	t.Parallel()
	s, err := Serve(t.Context(), 1<<63+12345)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	out, err := exec.CommandContext(t.Context(), "chromium", "--headless", "--no-sandbox", "--disable-gpu", "--user-data-dir="+t.TempDir(), "--dump-dom", s.Address(9)).Output()
	if err != nil || !strings.Contains(string(out), "<title>"+s.Title(9)+"</title>") {
		t.Errorf("%v: want %s in %.300s", err, s.Title(9), out)
	}
}
