package serve

import (
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"net"
	"net/http"
	"strings"
)

// closed is the policy of an answer that is no page.
const closed = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// guarded refuses requests that are not for us, not allowed, or want a change, and sets the headers that all answers have.
func (s *Server) guarded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("X-Frame-Options", "DENY")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		h.Set("Content-Security-Policy", closed)
		defer func() {
			if problem := recover(); problem != nil {
				http.Error(w, fmt.Sprintf("this page cannot be shown: %.200v", problem), http.StatusInternalServerError)
			}
		}()
		switch {
		case !s.ours(r):
			// DNS rebinding: a page of another site whose name now leads here.
			http.Error(w, fmt.Sprintf("%.100q is not a name of this server", r.Host), http.StatusMisdirectedRequest)
		case r.Method != http.MethodGet && r.Method != http.MethodHead:
			h.Set("Allow", "GET, HEAD")
			http.Error(w, "only GET and HEAD: nothing can be changed here", http.StatusMethodNotAllowed)
		case r.Header.Get("Sec-Fetch-Site") == "cross-site" && r.Header.Get("Sec-Fetch-Mode") != "navigate":
			http.Error(w, "not for pages of other sites", http.StatusForbidden)
		case !s.allowed(r):
			h.Set("WWW-Authenticate", `Basic realm="plimsoll: any user name, and the token as the password", charset="UTF-8"`)
			http.Error(w, "a token is required", http.StatusUnauthorized)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// ours reports whether a request names this server: by a loopback name, by the address at which it arrived, or by a name in the certificate.
func (s *Server) ours(r *http.Request) bool {
	name := r.Host
	if host, _, err := net.SplitHostPort(name); err == nil {
		name = host
	}
	name = strings.ToLower(strings.TrimSuffix(strings.TrimPrefix(strings.TrimSuffix(name, "."), "["), "]"))
	if name == "localhost" {
		return true
	}
	if ip := net.ParseIP(name); ip != nil {
		if ip.IsLoopback() {
			return true
		}
		local, _ := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr)
		if local != nil && local.IP.Equal(ip) {
			return true
		}
	}
	c := s.options.Certificate
	return name != "" && c != nil && c.Leaf != nil && c.Leaf.VerifyHostname(name) == nil
}

// allowed reports whether a request carries the token, as a bearer token or as a password.
func (s *Server) allowed(r *http.Request) bool {
	if s.options.Token == "" {
		return true
	}
	given, bearer := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !bearer {
		_, given, _ = r.BasicAuth()
	}
	want, got := sha256.Sum256([]byte(s.options.Token)), sha256.Sum256([]byte(given))
	return subtle.ConstantTimeCompare(want[:], got[:]) == 1
}
