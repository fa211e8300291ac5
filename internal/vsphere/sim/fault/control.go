package fault

import (
	"crypto/subtle"
	"io"
	"net/http"
	"strings"
)

// mostRules is the maximum size of a request in bytes.
const mostRules = 1 << 16

// Control lets clients read and change the faults. A user is that of the simulator; without one, all may.
//
//	GET     lists the rules with the number of faults each has made
//	POST    adds the rules of the body, one per line
//	PUT     replaces all rules by those of the body
//	DELETE  removes all rules
func (s *Set) Control(user, password string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Origin") != "" { // a page in a browser
			http.Error(w, "requests from web pages may not change faults", http.StatusForbidden)
			return
		}
		if name, secret, _ := r.BasicAuth(); user != "" && subtle.ConstantTimeCompare([]byte(name+"\x00"+secret), []byte(user+"\x00"+password)) != 1 {
			w.Header().Set("WWW-Authenticate", `Basic realm="plimsoll vcenter"`)
			http.Error(w, "the user and password of the simulator are required", http.StatusUnauthorized)
			return
		}
		s.answer(w, r)
	})
}

func (s *Set) answer(w http.ResponseWriter, r *http.Request) {
	var rules []string
	switch r.Method {
	case http.MethodGet:
	case http.MethodPost, http.MethodPut:
		text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, mostRules))
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		rules = strings.Fields(string(text))
		fallthrough
	case http.MethodDelete:
		if err := s.Add(rules, r.Method != http.MethodPost); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
	default:
		w.Header().Set("Allow", "GET, POST, PUT, DELETE")
		http.Error(w, "GET, POST, PUT or DELETE", http.StatusMethodNotAllowed)
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = io.WriteString(w, s.String())
}
