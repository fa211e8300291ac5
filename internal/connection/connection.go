// Package connection explains why a server was not reached.
package connection

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"syscall"
)

// failure is an error with a text for the user.
type failure struct {
	text  string
	cause error
}

func (f *failure) Error() string { return f.text }

func (f *failure) Unwrap() error { return f.cause }

// Explain says in words of the user what a client of HTTP met, and what to check. The text lacks the URL, which the
// caller's message has. Other errors stay as they are.
func Explain(err error) error {
	if err == nil {
		return nil
	}
	if proxy := (*net.OpError)(nil); errors.As(err, &proxy) && proxy.Op == "proxyconnect" {
		why, _, _ := strings.Cut(Explain(proxy.Err).Error(), ":")
		return &failure{"the proxy that HTTPS_PROXY names was not reached (" + why + "): correct that, or name the server in NO_PROXY", err}
	}
	if text := explanation(err); text != "" {
		return &failure{text, err}
	}
	if outer := (*url.Error)(nil); errors.As(err, &outer) {
		return &failure{outer.Err.Error(), err}
	}
	return err
}

func explanation(err error) string {
	var name *net.DNSError
	var record tls.RecordHeaderError
	switch {
	case errors.As(err, &name) && name.IsNotFound:
		return "there is no host " + name.Name + ": check the name"
	case errors.As(err, &name):
		return "the name " + name.Name + " was not resolved: check the name servers of this machine"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "connection refused: check the host and the port, and that the server runs"
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		return "no route to the host: check the address, and the network of this machine"
	case errors.Is(err, http.ErrSchemeMismatch), errors.As(err, &record):
		return "the answer is not TLS: check the port, which must be that of HTTPS"
	case errors.Is(err, context.Canceled):
		return ""
	case errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, context.DeadlineExceeded), errors.Is(err, syscall.ETIMEDOUT), timedOut(err):
		return "no answer in time: check the address, and firewalls on the way"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return "the connection was closed: check that the server runs, and that the port is that of HTTPS"
	}
	return ""
}

func timedOut(err error) bool {
	var of net.Error
	return errors.As(err, &of) && of.Timeout()
}
