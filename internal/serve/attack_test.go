package serve

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"plimsoll/internal/history"
	"plimsoll/internal/history/historytest"
	"plimsoll/internal/trial/journal"
)

// held makes a run that goes on.
func held(t *testing.T, dir string, started time.Time) (unlock func()) {
	t.Helper()
	if err := historytest.Write(historytest.Run{Dir: dir, Study: "held", Started: started, Trials: 1, Open: true}); err != nil {
		t.Fatal(err)
	}
	unlock, err := journal.Lock(dir)
	if err != nil {
		t.Fatal(err)
	}
	return unlock
}

// Requests of other sites, and those that want a change, are refused.
func TestGuard(t *testing.T) {
	s := newSite(t, nil)
	for name, c := range map[string]struct {
		method, host string
		head         map[string]string
		want         int
	}{
		"as it is":           {"GET", "", nil, 200},
		"head":               {"HEAD", "", nil, 200},
		"localhost":          {"GET", "localhost:9000", nil, 200},
		"without a port":     {"GET", "127.0.0.1", nil, 200},
		"IPv6":               {"GET", "[::1]:8467", nil, 200},
		"rebound":            {"GET", "evil.example", nil, 421},
		"rebound, port":      {"GET", "evil.example:8467", nil, 421},
		"like ours":          {"GET", "localhost.evil.example", nil, 421},
		"like an address":    {"GET", "127.0.0.1.evil.example", nil, 421},
		"another address":    {"GET", "192.0.2.1", nil, 421},
		"any address":        {"GET", "0.0.0.0", nil, 421},
		"post":               {"POST", "", nil, 405},
		"put":                {"PUT", "", nil, 405},
		"delete":             {"DELETE", "", nil, 405},
		"options":            {"OPTIONS", "", nil, 405},
		"part of a site":     {"GET", "", map[string]string{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"}, 403},
		"link from a site":   {"GET", "", map[string]string{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}, 200},
		"our own page":       {"GET", "", map[string]string{"Sec-Fetch-Site": "same-origin", "Sec-Fetch-Mode": "cors"}, 200},
		"rebound and a post": {"POST", "evil.example", nil, 421},
	} {
		r, err := http.NewRequestWithContext(t.Context(), c.method, s.url+"/", nil)
		if err != nil {
			t.Fatal(err)
		}
		if c.host != "" {
			r.Host = c.host
		}
		for key, value := range c.head {
			r.Header.Set(key, value)
		}
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(answer.Body)
		answer.Body.Close()
		if answer.StatusCode != c.want || answer.Header.Get("X-Content-Type-Options") != "nosniff" || answer.Header.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%s: status %d, want %d, %v", name, answer.StatusCode, c.want, answer.Header)
		}
		if c.want != 200 && strings.Contains(string(body), "tutorial-ab") || c.method == "HEAD" && len(body) > 0 {
			t.Errorf("%s: %s", name, body)
		}
	}
}

func TestToken(t *testing.T) {
	s := newSite(t, func(o *Options) { o.Token = "correct-horse-battery-staple" })
	ask := func(change func(*http.Request)) int {
		r, err := http.NewRequestWithContext(t.Context(), "GET", s.url+"/metrics", nil)
		if err != nil {
			t.Fatal(err)
		}
		change(r)
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		return answer.StatusCode
	}
	for name, c := range map[string]struct {
		change func(*http.Request)
		want   int
	}{
		"none":           {func(*http.Request) {}, 401},
		"bearer":         {func(r *http.Request) { r.Header.Set("Authorization", "Bearer correct-horse-battery-staple") }, 200},
		"password":       {func(r *http.Request) { r.SetBasicAuth("anyone", "correct-horse-battery-staple") }, 200},
		"wrong":          {func(r *http.Request) { r.Header.Set("Authorization", "Bearer correct-horse-battery-stapl") }, 401},
		"empty":          {func(r *http.Request) { r.SetBasicAuth("anyone", "") }, 401},
		"as user":        {func(r *http.Request) { r.SetBasicAuth("correct-horse-battery-staple", "") }, 401},
		"in the address": {func(r *http.Request) { r.URL.RawQuery = "token=correct-horse-battery-staple" }, 401},
	} {
		if got := ask(c.change); got != c.want {
			t.Errorf("%s: status %d, want %d", name, got, c.want)
		}
	}
}

// Nothing outside of the folders is read, whatever the address or a results folder says.
func TestNothingElseIsRead(t *testing.T) {
	s := newSite(t, nil)
	secret := filepath.Join(filepath.Dir(s.folder), "outside")
	if err := os.CopyFS(secret, os.DirFS(filepath.Join(s.folder, "b"))); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/../outside/study.yaml", "/run/../../outside", "/run/..%2f..%2foutside", "/run/" + history.ID(secret), "/run/%2e%2e/trial/1", "/run//etc/passwd", "/%2e%2e%2f%2e%2e%2fetc/passwd"} {
		conn, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", path)
		text, err := io.ReadAll(conn)
		conn.Close()
		if err != nil || strings.HasPrefix(string(text), "HTTP/1.1 200") || strings.Contains(string(text), "root:") {
			t.Errorf("%s: %v, %.200s", path, err, text)
		}
	}
	for name, spoil := range map[string]func(dir string) error{
		"trials": func(dir string) error { return replaced(filepath.Join(dir, "trials"), filepath.Join(secret, "trials")) },
		"trial": func(dir string) error {
			return replaced(filepath.Join(dir, "trials/0001"), filepath.Join(secret, "trials/0001"))
		},
		"record": func(dir string) error {
			return replaced(filepath.Join(dir, "trials/0001/record.json"), filepath.Join(secret, "trials/0001/record.json"))
		},
		"study": func(dir string) error {
			return replaced(filepath.Join(dir, "study.json"), filepath.Join(secret, "study.json"))
		},
		"journal": func(dir string) error {
			return replaced(filepath.Join(dir, "journal.jsonl"), filepath.Join(secret, "journal.jsonl"))
		},
		"run": func(dir string) error { return replaced(dir, secret) },
		"tuned": func(dir string) error {
			return os.WriteFile(filepath.Join(dir, "tuned.json"), []byte(`{"run": "../../outside"}`), 0o644)
		},
		"pipe": func(dir string) error {
			if err := os.Remove(filepath.Join(dir, "lock")); err != nil {
				return err
			}
			return syscall.Mkfifo(filepath.Join(dir, "lock"), 0o644)
		},
	} {
		dir := filepath.Join(s.folder, name)
		if err := os.CopyFS(dir, os.DirFS(filepath.Join(s.folder, "a"))); err != nil {
			t.Fatal(err)
		}
		if err := spoil(dir); err != nil {
			t.Fatal(err)
		}
		if name == "pipe" { // a list does not wait for it
			s.get("/", http.StatusOK)
			continue
		}
		for _, path := range []string{"/run/" + s.id(name), "/run/" + s.id(name) + "/trial/1", "/compare?a=" + s.id(name) + "&b=" + s.id("b")} {
			answer, err := http.Get(s.url + path)
			if err != nil {
				t.Fatal(err)
			}
			answer.Body.Close()
			if answer.StatusCode == http.StatusOK && !(name == "tuned" && !strings.HasSuffix(path, s.id(name))) {
				t.Errorf("%s: %s is shown", name, path)
			}
		}
	}
}

// replaced replaces a file or folder by a symbolic link.
func replaced(name, target string) error {
	if err := os.RemoveAll(name); err != nil {
		return err
	}
	return os.Symlink(target, name)
}

// Words of results folders are text, wherever they are shown.
func TestWordsAreText(t *testing.T) {
	s := newSite(t, nil)
	const evil = `<script>alert(1)</script>"'><img src=x onerror=alert(1)>`
	if err := historytest.Write(historytest.Run{Dir: filepath.Join(s.folder, `"><script>x`), Study: evil, Question: evil, Started: time.Now(), Trials: 1, Verdict: evil, Answer: evil, Ratio: 1, Testbed: nil}); err != nil {
		t.Fatal(err)
	}
	unlock := held(t, filepath.Join(s.folder, "held"), time.Now())
	defer unlock()
	for _, path := range []string{"/", "/?q=" + strings.ReplaceAll(evil, " ", "+"), "/?state=%3Cscript%3E", "/run/%3Cscript%3E", "/compare?a=%3Cscript%3E&b=x", "/testbeds", "/%3Cscript%3E", "/run/" + s.id(`"><script>x`)} {
		answer, err := http.Get(s.url + path)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(answer.Body)
		answer.Body.Close()
		if err != nil || strings.Contains(string(body), "<script") || strings.Contains(string(body), "<img") {
			t.Errorf("%s: %v, %s", path, err, body)
		}
	}
}

// Damaged and odd folders have a page that says why.
func TestDamagedFolders(t *testing.T) {
	s := newSite(t, nil)
	for name, change := range map[string]func(dir string) error{
		"no plan":   func(dir string) error { return os.Remove(filepath.Join(dir, "plan.json")) },
		"odd study": func(dir string) error { return os.WriteFile(filepath.Join(dir, "study.json"), []byte(`[]`), 0o644) },
		"odd findings": func(dir string) error {
			return os.WriteFile(filepath.Join(dir, "findings.json"), []byte(`{"headlines": [{"arm": -5}, {"arm": 99}], "peaks": [{}], "scaleOut": {}}`), 0o644)
		},
		"odd testbed": func(dir string) error {
			return os.WriteFile(filepath.Join(dir, "testbed.json"), []byte(`{"a": 1}`), 0o644)
		},
		"odd journal": func(dir string) error {
			return os.WriteFile(filepath.Join(dir, "journal.jsonl"), []byte("x\ny\nz\n"), 0o644)
		},
		"empty": func(dir string) error { return os.RemoveAll(filepath.Join(dir, "trials")) },
	} {
		dir := filepath.Join(s.folder, name)
		if err := os.CopyFS(dir, os.DirFS(filepath.Join(s.folder, "a"))); err != nil {
			t.Fatal(err)
		}
		if err := change(dir); err != nil {
			t.Fatal(err)
		}
		for _, path := range []string{"/", "/testbeds", "/metrics", "/run/" + s.id(name), "/run/" + s.id(name) + "/trial/1", "/compare?a=" + s.id("a") + "&b=" + s.id(name)} {
			answer, err := http.Get(s.url + path)
			if err != nil {
				t.Errorf("%s, %s: %v", name, path, err)
				continue
			}
			body, _ := io.ReadAll(answer.Body)
			answer.Body.Close()
			if len(body) == 0 || len(path) < 12 && answer.StatusCode != http.StatusOK || strings.Contains(string(body), "runtime error") {
				t.Errorf("%s, %s: status %d, %s", name, path, answer.StatusCode, body)
			}
		}
	}
}

func TestListenBeyondLoopback(t *testing.T) {
	for _, address := range []string{":0", "0.0.0.0:0", "[::]:0", "192.0.2.1:0"} {
		for name, o := range map[string]Options{"nothing": {}, "a token": {Token: "t"}, "TLS": {Certificate: &tls.Certificate{}}} {
			if l, err := Listen(address, o); err == nil || !strings.Contains(err.Error(), "requires a token and TLS") {
				t.Errorf("%s with %s: %v", address, name, err)
				if l != nil {
					l.Close()
				}
			}
		}
	}
	l, err := Listen("127.0.0.1:0", Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if _, err := Listen(l.Addr().String(), Options{}); err == nil || !strings.Contains(err.Error(), "another program uses the port") {
		t.Errorf("a port in use: %v", err)
	}
}

func TestReadToken(t *testing.T) {
	name := filepath.Join(t.TempDir(), "token")
	for text, mode := range map[string]os.FileMode{"correct-horse-battery-staple\n": 0o644, "short\n": 0o600, "": 0o600, "two words that are long enough": 0o600} {
		if err := os.WriteFile(name, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(name, mode); err != nil {
			t.Fatal(err)
		}
		if token, err := ReadToken(name); err == nil {
			t.Errorf("%q with mode %o is %q", text, mode, token)
		}
	}
	if err := os.WriteFile(name, []byte("correct-horse-battery-staple\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(name, 0o600); err != nil {
		t.Fatal(err)
	}
	if token, err := ReadToken(name); err != nil || token != "correct-horse-battery-staple" {
		t.Errorf("%q, %v", token, err)
	}
}

// pair writes a key pair for a name.
func pair(t *testing.T, name string) (certificate, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	of := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name}, NotAfter: time.Now().Add(time.Hour)}
	made, err := x509.CreateCertificate(rand.Reader, of, of, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	certificate, key = filepath.Join(dir, "c"), filepath.Join(dir, "k")
	for file, block := range map[string]*pem.Block{certificate: {Type: "CERTIFICATE", Bytes: made}, key: {Type: "PRIVATE KEY", Bytes: secret}} {
		if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return certificate, key
}

// served serves a site as the command does, until the test ends.
func served(t *testing.T, s *site, address string) (at string, stop func() error) {
	t.Helper()
	l, err := Listen(address, s.server.options)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.server.Serve(ctx, l) }()
	stopped := false
	stop = func() error {
		if stopped {
			return nil
		}
		stopped = true
		cancel()
		return <-ended
	}
	t.Cleanup(func() { _ = stop() })
	return l.Addr().String(), stop
}

// With a token and TLS other hosts are let in, by the name in the certificate.
func TestTLS(t *testing.T) {
	certificate, key := pair(t, "lab.example")
	s := newSite(t, func(o *Options) {
		o.Token = "correct-horse-battery-staple"
		var err error
		if o.Certificate, err = ReadCertificate(certificate, key); err != nil {
			t.Fatal(err)
		}
	})
	at, _ := served(t, s, "0.0.0.0:0")
	_, port, err := net.SplitHostPort(at)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(s.server.options.Certificate.Leaf)
	dial := func(ctx context.Context, network, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, network, "127.0.0.1:"+port)
	}
	client := &http.Client{Transport: &http.Transport{DialContext: dial, TLSClientConfig: &tls.Config{RootCAs: roots, ServerName: "lab.example"}}}
	for host, want := range map[string]int{"lab.example": 200, "evil.example": 421} {
		r, err := http.NewRequestWithContext(t.Context(), "GET", "https://lab.example:"+port+"/", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Host = host
		r.SetBasicAuth("", "correct-horse-battery-staple")
		answer, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if answer.StatusCode != want {
			t.Errorf("%s: status %d, want %d", host, answer.StatusCode, want)
		}
	}
	plain, err := http.Get("http://127.0.0.1:" + port + "/")
	if err == nil {
		if plain.Body.Close(); plain.StatusCode == http.StatusOK {
			t.Error("served without TLS")
		}
	}
}

// A thousand connections that ask for nothing, or for half a request, keep nobody out, and few of them stay.
func TestManyConnections(t *testing.T) {
	s := newSite(t, nil)
	at, stop := served(t, s, "127.0.0.1:0")
	var all []net.Conn
	defer func() {
		for _, c := range all {
			c.Close()
		}
	}()
	for n := range 1000 {
		c, err := net.Dial("tcp", at)
		if err != nil {
			t.Fatal(err)
		}
		if n%2 == 0 {
			fmt.Fprint(c, "GET / HTTP/1.1\r\nHost: loc")
		}
		all = append(all, c)
	}
	for range 3 {
		client := &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
		begin := time.Now()
		answer, err := client.Get("http://" + at + "/")
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if took := time.Since(begin); answer.StatusCode != http.StatusOK || took > 2*time.Second {
			t.Errorf("status %d after %v", answer.StatusCode, took)
		}
	}
	left := 0
	for _, c := range all {
		if err := c.SetReadDeadline(time.Now().Add(time.Millisecond)); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Read(make([]byte, 1)); os.IsTimeout(err) {
			left++
		}
	}
	if left > mostOpen {
		t.Errorf("%d connections stay open, more than %d", left, mostOpen)
	}
	begin := time.Now()
	if err := stop(); err != nil || time.Since(begin) > endTime+2*time.Second {
		t.Errorf("it ended with %v after %v", err, time.Since(begin))
	}
}

// A client that reads nothing, and a head without an end, do not last.
func TestSlowClients(t *testing.T) {
	s := newSite(t, nil)
	at, _ := served(t, s, "127.0.0.1:0")
	c, err := net.Dial("tcp", at)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	fmt.Fprintf(c, "GET / HTTP/1.1\r\nHost: localhost\r\nX: %s\r\n\r\n", strings.Repeat("x", 2*mostHeader))
	if line, err := bufio.NewReader(c).ReadString('\n'); err != nil || !strings.Contains(line, "431") {
		t.Errorf("a long head: %q, %v", line, err)
	}
	if os.Getenv("PLIMSOLL_REAL") == "" {
		return // the rest waits for a time limit
	}
	half, err := net.Dial("tcp", at)
	if err != nil {
		t.Fatal(err)
	}
	defer half.Close()
	fmt.Fprint(half, "GET / HTTP/1.1\r\n")
	if err := half.SetReadDeadline(time.Now().Add(headerTime + 5*time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(half); os.IsTimeout(err) {
		t.Error("half a request is waited for")
	}
}
