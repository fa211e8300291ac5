// Package proxmox is a client of the API of Proxmox VE: the calls that a cluster's load
// balance needs.
package proxmox

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"

	"plimsoll/internal/connection"
)

// Account is how one reaches a cluster, and as whom.
type Account struct {
	Host        string // with or without a port
	User        string // such as root@pam; with a token, root@pam!name
	Password    string
	Token       string // secret of an API token, instead of a password
	CA          string // file with the certificates of the authority; empty for those of the system
	Fingerprint string // SHA-256 of the server's certificate, instead of an authority
}

// Client is a session with a cluster. Several goroutines may use it.
type Client struct {
	account Account
	base    string
	http    *http.Client

	mu     sync.Mutex // guards what follows
	ticket string
	csrf   string
}

const (
	usualPort    = "8006"
	mostAnswer   = 64 << 20 // bytes of an answer
	answerWithin = 30 * time.Second
)

// Check says what is wrong with an account, before anything is reached.
func (a *Account) Check() error {
	switch {
	case a.User == "" || !strings.Contains(a.User, "@"):
		return errors.New("the account of Proxmox VE has a realm, such as root@pam")
	case a.Password == "" && a.Token == "":
		return errors.New("a password or a token of Proxmox VE is required")
	case a.Password != "" && a.Token != "":
		return errors.New("a password and a token of Proxmox VE exclude each other")
	case a.Token != "" && !strings.Contains(a.User, "!"):
		return errors.New("the account of a token has its name, such as root@pam!plimsoll")
	}
	_, err := a.trust()
	return err
}

// Open logs in.
func Open(ctx context.Context, a Account) (*Client, error) {
	if err := a.Check(); err != nil {
		return nil, err
	}
	trust, err := a.trust()
	if err != nil {
		return nil, err
	}
	host := a.Host
	if _, _, err := net.SplitHostPort(host); err != nil {
		host = net.JoinHostPort(strings.Trim(host, "[]"), usualPort)
	}
	transport := &http.Transport{Proxy: http.ProxyFromEnvironment, TLSClientConfig: trust, MaxIdleConnsPerHost: parallel, TLSHandshakeTimeout: answerWithin}
	c := &Client{account: a, base: "https://" + host + "/api2/json", http: &http.Client{Transport: transport, Timeout: answerWithin, CheckRedirect: noRedirect}}
	if err := c.login(ctx); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// noRedirect keeps credentials from other servers.
func noRedirect(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// trust verifies the server by its authority or its fingerprint.
func (a *Account) trust() (*tls.Config, error) {
	t := &tls.Config{MinVersion: tls.VersionTLS12}
	if a.CA != "" && a.Fingerprint != "" {
		return nil, errors.New("a CA and a fingerprint exclude each other")
	}
	if a.CA != "" {
		text, err := os.ReadFile(a.CA)
		if err != nil {
			return nil, fmt.Errorf("read the certificates of the authority: %w", err)
		}
		if t.RootCAs = x509.NewCertPool(); !t.RootCAs.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("%s has no certificates (PEM)", a.CA)
		}
	}
	if a.Fingerprint != "" {
		want, err := parseFingerprint(a.Fingerprint)
		if err != nil {
			return nil, err
		}
		t.InsecureSkipVerify = true // the certificate itself is compared instead
		t.VerifyConnection = func(s tls.ConnectionState) error {
			if got := sha256.Sum256(s.PeerCertificates[0].Raw); got != want {
				return fmt.Errorf("the server's certificate has the fingerprint %s, not the one that is given: if its certificate was not renewed, someone intercepts the connection", fingerprint(got))
			}
			return nil
		}
	}
	return t, nil
}

func parseFingerprint(text string) (sum [sha256.Size]byte, err error) {
	raw, err := hex.DecodeString(strings.ReplaceAll(strings.TrimSpace(text), ":", ""))
	if err != nil || len(raw) != len(sum) {
		return sum, errors.New("a fingerprint is the SHA-256 of a certificate: 32 bytes in hexadecimal, with or without colons")
	}
	copy(sum[:], raw)
	return sum, nil
}

// fingerprint writes a fingerprint as Proxmox VE shows it.
func fingerprint(sum [sha256.Size]byte) string {
	parts := make([]string, len(sum))
	for i, b := range sum {
		parts[i] = fmt.Sprintf("%02X", b)
	}
	return strings.Join(parts, ":")
}

// Close gives up the connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// login gets a ticket; a token needs none.
func (c *Client) login(ctx context.Context) error {
	if c.account.Token != "" {
		return nil
	}
	var v struct {
		Ticket string          `json:"ticket"`
		CSRF   string          `json:"CSRFPreventionToken"`
		TFA    json.RawMessage `json:"NeedTFA"`
	}
	form := url.Values{"username": {c.account.User}, "password": {c.account.Password}}
	if err := c.once(ctx, request{method: http.MethodPost, path: "/access/ticket", form: form}, &v); err != nil {
		return fmt.Errorf("log in to Proxmox VE at %s as %s: %w", c.base, c.account.User, err)
	}
	if need := strings.Trim(string(v.TFA), `"`); need != "" && need != "0" && need != "false" && need != "null" {
		return fmt.Errorf("log in to Proxmox VE as %s: the account requires a second factor: use an API token", c.account.User)
	}
	if v.Ticket == "" {
		return fmt.Errorf("log in to Proxmox VE at %s: no ticket in the answer", c.base)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ticket, c.csrf = v.Ticket, v.CSRF
	return nil
}

// request is a call of the API.
type request struct {
	method string
	path   string // parts are escaped
	query  url.Values
	form   url.Values
}

// call makes a call. Where the ticket has expired it logs in again, once.
func (c *Client) call(ctx context.Context, r request, into any) error {
	err := c.once(ctx, r, into)
	if refused := new(Refused); errors.As(err, &refused) && refused.Status == http.StatusUnauthorized && c.account.Token == "" {
		if err := c.login(ctx); err != nil {
			return err
		}
		err = c.once(ctx, r, into)
	}
	return err
}

// explain says what to do about an untrusted certificate, and about a server that is not reached.
func explain(err error) error {
	var untrusted *tls.CertificateVerificationError
	if errors.As(err, &untrusted) && len(untrusted.UnverifiedCertificates) > 0 {
		return fmt.Errorf("its certificate is not trusted: %w. Its SHA-256 fingerprint is %s: compare it with that on the node, then add fingerprint=... or ca=FILE to the address",
			untrusted.Err, fingerprint(sha256.Sum256(untrusted.UnverifiedCertificates[0].Raw)))
	}
	return connection.Explain(err)
}

// once makes a call with the current ticket.
func (c *Client) once(ctx context.Context, r request, into any) error {
	address := c.base + r.path
	if len(r.query) > 0 {
		address += "?" + r.query.Encode()
	}
	var body io.Reader
	if r.form != nil {
		body = strings.NewReader(r.form.Encode())
	}
	q, err := http.NewRequestWithContext(ctx, r.method, address, body)
	if err != nil {
		return fmt.Errorf("%s %s: %w", r.method, r.path, err)
	}
	if r.form != nil {
		q.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	c.authorize(q)
	answer, err := c.http.Do(q)
	if err != nil {
		return fmt.Errorf("%s %s: %w", r.method, r.path, explain(err))
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, mostAnswer+1))
	switch {
	case err != nil:
		return fmt.Errorf("%s %s: truncated answer: %w", r.method, r.path, err)
	case len(text) > mostAnswer:
		return fmt.Errorf("%s %s: the response exceeds %d bytes", r.method, r.path, mostAnswer)
	case answer.StatusCode/100 != 2:
		return fmt.Errorf("%s %s: %w", r.method, r.path, refusal(answer.StatusCode, answer.Status, text))
	}
	if err := decode(text, into); err != nil {
		return fmt.Errorf("%s %s: %w", r.method, r.path, err)
	}
	return nil
}

func (c *Client) authorize(q *http.Request) {
	if c.account.Token != "" {
		q.Header.Set("Authorization", "PVEAPIToken="+c.account.User+"="+c.account.Token)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ticket != "" {
		q.AddCookie(&http.Cookie{Name: "PVEAuthCookie", Value: c.ticket})
		if q.Method != http.MethodGet {
			q.Header.Set("CSRFPreventionToken", c.csrf)
		}
	}
}

// decode reads the data of an answer.
func decode(text []byte, into any) error {
	var v struct {
		Data json.RawMessage `json:"data"`
	}
	if err := json.Unmarshal(bytes.TrimSpace(text), &v); err != nil {
		return fmt.Errorf("the answer is no JSON of Proxmox VE: %w", err)
	}
	if into == nil {
		return nil
	}
	if len(v.Data) == 0 || string(v.Data) == "null" {
		return errors.New("the answer has no data")
	}
	if err := json.Unmarshal(v.Data, into); err != nil {
		return fmt.Errorf("unexpected answer: %w", err)
	}
	return nil
}
