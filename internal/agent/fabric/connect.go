package fabric

import (
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
)

// Endpoint is the address of a NATS server, with credentials.
type Endpoint struct {
	URL string // nats://host:port or tls://host:port; several, separated by commas
	Key *Key
	// CA is the fingerprint of the certificate authority that must have signed the
	// server's certificate: "sha256:" and 64 hexadecimal digits. It is needed
	// beyond loopback.
	CA string
	// InProcess is a server in this process, instead of URL.
	InProcess interface {
		InProcessConn() (net.Conn, error)
	}
	Log func(format string, args ...any) // may be nil
}

// wire is a connection to a NATS server that reconnects automatically.
type wire struct {
	conn   *nats.Conn
	closed chan struct{}
}

func dial(e Endpoint) (bus, error) {
	log := once(e.Log)
	w := &wire{closed: make(chan struct{})}
	options := []nats.Option{
		nats.Name("plimsoll"),
		nats.Nkey(e.Key.Public(), e.Key.answer),
		nats.MaxReconnects(-1),
		nats.ReconnectWait(250 * time.Millisecond),
		nats.ReconnectJitter(250*time.Millisecond, 250*time.Millisecond),
		nats.ReconnectBufSize(-1), // unsent messages are sent again by their senders as long as needed
		nats.Timeout(5 * time.Second),
		nats.PingInterval(5 * time.Second),
		nats.MaxPingsOutstanding(2),
		nats.RetryOnFailedConnect(true),
		nats.ClosedHandler(func(*nats.Conn) { close(w.closed) }),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			if err != nil {
				log("the connection to the NATS server is cut: %v", err)
			}
		}),
		nats.ReconnectErrHandler(func(_ *nats.Conn, err error) { log("connect to the NATS server: %v", err) }),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { log("NATS: %v", err) }),
	}
	if e.InProcess != nil {
		options = append(options, nats.InProcessServer(e.InProcess))
	} else {
		secure, err := security(e.URL, e.CA)
		if err != nil {
			return nil, err
		}
		options = append(options, secure...)
	}
	conn, err := nats.Connect(e.URL, options...)
	if err != nil {
		return nil, fmt.Errorf("connect to the NATS server: %w", err)
	}
	w.conn = conn
	return w, nil
}

// once drops a log message equal to the previous one, as each attempt to reach an absent lab
// repeats it.
func once(log func(string, ...any)) func(string, ...any) {
	var mu sync.Mutex
	last := ""
	return func(format string, args ...any) {
		text := fmt.Sprintf(format, args...)
		mu.Lock()
		defer mu.Unlock()
		if log != nil && text != last {
			last = text
			log("%s", text)
		}
	}
}

// security refuses unencrypted connections beyond loopback.
func security(urls, ca string) ([]nats.Option, error) {
	for text := range strings.SplitSeq(urls, ",") {
		u, err := url.Parse(strings.TrimSpace(text))
		if err != nil || u.Hostname() == "" || (u.Scheme != "nats" && u.Scheme != "tls") {
			return nil, fmt.Errorf("invalid lab address %q: must be nats://host:port", text)
		}
		if u.User != nil {
			return nil, fmt.Errorf("the lab's address %s contains a user name or password: agents authenticate with their key only", u.Redacted())
		}
		if ca == "" && !loopback(u.Hostname()) {
			return nil, fmt.Errorf("the lab at %s is not on loopback: specify the fingerprint of its certificate authority, which the lab prints when it starts", u.Host)
		}
	}
	if ca == "" {
		return nil, nil
	}
	pin, err := parseFingerprint(ca)
	if err != nil {
		return nil, err
	}
	return []nats.Option{nats.Secure(&tls.Config{
		MinVersion:         tls.VersionTLS13,
		InsecureSkipVerify: true, // replaced by the check against the pin, which is stricter
		VerifyConnection:   func(s tls.ConnectionState) error { return pinned(s.PeerCertificates, pin) },
	})}, nil
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

func parseFingerprint(text string) (pin [sha256.Size]byte, err error) {
	digits, found := strings.CutPrefix(strings.ToLower(strings.TrimSpace(text)), "sha256:")
	raw, err := hex.DecodeString(digits)
	if !found || err != nil || len(raw) != len(pin) {
		return pin, fmt.Errorf("%q is not a certificate fingerprint: sha256: and 64 hexadecimal digits", text)
	}
	return [sha256.Size]byte(raw), nil
}

// pinned accepts a chain signed by the authority with the fingerprint. The names in the
// certificate are ignored: the authority signs for its lab only, and the lab may not know the
// addresses by which it is reached.
func pinned(chain []*x509.Certificate, pin [sha256.Size]byte) error {
	if len(chain) == 0 {
		return errors.New("the lab sent no certificate")
	}
	roots := x509.NewCertPool()
	for _, c := range chain {
		if c.IsCA && sha256.Sum256(c.Raw) == pin {
			roots.AddCert(c)
		}
	}
	if _, err := chain[0].Verify(x509.VerifyOptions{Roots: roots, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}); err != nil {
		return fmt.Errorf("the lab's certificate is not signed by the authority with the specified fingerprint: %w", err)
	}
	return nil
}

func (w *wire) publish(subject string, data []byte) error { return w.conn.Publish(subject, data) }

func (w *wire) subscribe(subject string, f func(string, []byte)) error {
	_, err := w.conn.Subscribe(subject, func(m *nats.Msg) { f(m.Subject, m.Data) })
	if err != nil {
		return fmt.Errorf("subscribe to %s: %w", subject, err)
	}
	return nil
}

func (w *wire) dead() <-chan struct{} { return w.closed }

func (w *wire) close() error {
	var err error
	if w.conn.IsConnected() {
		err = w.conn.FlushTimeout(2 * time.Second)
	}
	w.conn.Close()
	<-w.closed
	if errors.Is(err, nats.ErrConnectionClosed) || errors.Is(err, nats.ErrTimeout) {
		return nil
	}
	return err
}
