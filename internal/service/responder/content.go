package responder

import (
	"fmt"
	"net/http"
	"path"
	"strconv"

	"plimsoll/internal/service/webfiles"
)

// content is what the web server serves.
type content struct {
	files map[string]file // by path; "/" is the first page
}

type file struct {
	kind string // its media type
	body []byte
	head []byte // of a keep-alive response by HTTP/1.1
}

func newSite(p webfiles.Pages) *content {
	s := &content{files: map[string]file{}}
	for name, body := range p.Files() {
		f := file{kind: "image/jpeg", body: body}
		switch path.Ext(name) {
		case ".html":
			f.kind = "text/html; charset=utf-8"
		case ".txt":
			f.kind = "text/plain; charset=utf-8"
		}
		f.head = fmt.Appendf(nil, "HTTP/1.1 200 OK\r\nServer: plimsoll\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n", f.kind, len(body))
		s.files[name] = f
	}
	s.files["/"] = s.files["/0/page.html"]
	return s
}

// ServeHTTP serves requests beyond plain HTTP/1.1.
func (s *content) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f, ok := s.files[r.URL.Path]
	switch {
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		http.Error(w, "only GET and HEAD are served", http.StatusMethodNotAllowed)
	case !ok:
		http.NotFound(w, r)
	default:
		w.Header().Set("Server", "plimsoll")
		w.Header().Set("Content-Type", f.kind)
		w.Header().Set("Content-Length", strconv.Itoa(len(f.body)))
		_, _ = w.Write(f.body) // errors of a client that is gone are ignored
	}
}
