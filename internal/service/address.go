package service

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"slices"
	"strings"
	"syscall"
	"time"

	"plimsoll/internal/load"
	"plimsoll/internal/parameter"
	"plimsoll/internal/platform"
)

// ParseAddress parses the address of a running service: host:port, or the absolute path of a
// socket.
func ParseAddress(text string) (load.Endpoint, error) {
	if strings.HasPrefix(text, "/") {
		return load.Endpoint{Network: "unix", Address: text}, nil
	}
	host, port, err := net.SplitHostPort(text)
	if err != nil || host == "" || port == "" {
		return load.Endpoint{}, fmt.Errorf("address %q is neither host:port, like 127.0.0.1:6379, nor the path of a socket", text)
	}
	if _, err := net.LookupPort("tcp", port); err != nil {
		return load.Endpoint{}, fmt.Errorf("address %q: %q is not a port", text, port)
	}
	return load.Endpoint{Network: "tcp", Address: text}, nil
}

// Provided is the server at an address of the study; nil without one. The settings named in
// fine are for its client; others cannot be set.
func Provided(address string, settings, defaults any, fine ...string) (*Existing, error) {
	if address == "" {
		return nil, nil
	}
	e, err := ParseAddress(address)
	if err == nil {
		err = free(settings, defaults, fine)
	}
	return &Existing{Endpoint: e}, err
}

// free rejects settings that differ from the defaults.
func free(settings, defaults any, fine []string) error {
	plain := parameter.Fields(defaults)
	for i, f := range parameter.Fields(settings) {
		if f.Name != "address" && f.Default != plain[i].Default && !slices.Contains(fine, f.Name) {
			return fmt.Errorf("%s cannot be set on a server you provide: omit it, or omit address to start a server", f.Name)
		}
	}
	return nil
}

// dialling is the time limit of a connect.
const dialling = 5 * time.Second

// Dial connects to a service from the machine, if plimsoll can connect through it. Its errors
// are one line with a remedy.
func Dial(ctx context.Context, m platform.Machine, e load.Endpoint) (net.Conn, error) {
	connect := (&net.Dialer{}).DialContext
	if through, ok := m.(platform.Dialer); ok {
		connect = through.Dial
	}
	until, cancel := context.WithTimeout(ctx, dialling)
	defer cancel()
	conn, err := connect(until, e.Network, e.Address)
	if err == nil {
		if deadline, ok := ctx.Deadline(); ok {
			err = conn.SetDeadline(deadline)
		}
		return conn, err
	}
	var unresolved *net.DNSError
	var slow net.Error
	switch {
	case ctx.Err() != nil:
		return nil, fmt.Errorf("connect to %s: %w", e.Address, context.Cause(ctx))
	case errors.As(err, &unresolved):
		return nil, fmt.Errorf("the name in address %s does not resolve: correct address, or omit it to start a server", e.Address)
	case errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("nothing listens at %s: start the service there, or omit address to start a server", e.Address)
	case errors.As(err, &slow) && slow.Timeout():
		return nil, fmt.Errorf("%s does not answer within %s: a firewall may be in between", e.Address, dialling)
	}
	return nil, fmt.Errorf("connect to %s: %w", e.Address, err)
}
