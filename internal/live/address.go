package live

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/url"
	"os"
	"slices"
	"strings"
)

// Address is the address of a live cluster: a URL such as
//
//	vsphere://operator@vcenter.example/DC0/Cluster?password=file:/run/secrets/vcenter
//
// It contains references to secrets, not secrets: file:PATH or env:NAME.
type Address struct {
	Scheme, User, Host string
	Path               string // without the leading slash
	Parameters         map[string]string
	// Dial connects to the host through another machine; nil where this process connects by itself.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

// Mistake is an error in the address of a cluster, or in a file that it names; nothing was
// contacted.
type Mistake struct{ Err error }

// Error is the text of the error.
func (m *Mistake) Error() string { return m.Err.Error() }

// Unwrap is the underlying error.
func (m *Mistake) Unwrap() error { return m.Err }

// ParseAddress parses the URL of a live cluster. A password in it is an error.
func ParseAddress(text string) (Address, error) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme == "" {
		return Address{}, errors.New("the address of a live cluster is a URL, such as vsphere://user@host/datacenter/cluster")
	}
	if _, has := u.User.Password(); has {
		return Address{}, errors.New("the address contains a password: remove it, and refer to it by ?password=file:PATH or ?password=env:NAME")
	}
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return Address{}, fmt.Errorf("the parameters of the address: %w", err)
	}
	a := Address{Scheme: u.Scheme, User: u.User.Username(), Host: u.Host, Path: strings.TrimPrefix(u.Path, "/"), Parameters: map[string]string{}}
	for name, values := range query {
		if len(values) > 1 {
			return Address{}, fmt.Errorf("the address has the parameter %s twice", name)
		}
		a.Parameters[name] = values[0]
	}
	return a, nil
}

// Allow returns a Mistake for a parameter that is not in the list.
func (a Address) Allow(names ...string) error {
	for _, have := range slices.Sorted(maps.Keys(a.Parameters)) {
		if !slices.Contains(names, have) {
			return &Mistake{fmt.Errorf("unknown parameter %q in the address of a %s cluster; known: %s", have, a.Scheme, strings.Join(names, ", "))}
		}
	}
	return nil
}

// Secret reads the secret that a parameter refers to, without the trailing newline of a file.
// It is empty without the parameter. An error is a Mistake.
func (a Address) Secret(name string) (string, error) {
	reference, has := a.Parameters[name]
	if !has {
		return "", nil
	}
	kind, at, _ := strings.Cut(reference, ":")
	switch kind {
	case "env":
		value, set := os.LookupEnv(at)
		switch {
		case !set:
			return "", &Mistake{fmt.Errorf("%s: the environment variable %s is not set", name, at)}
		case value == "":
			return "", &Mistake{fmt.Errorf("%s: the environment variable %s is empty", name, at)}
		}
		return value, nil
	case "file":
		text, err := os.ReadFile(at)
		if err != nil {
			return "", &Mistake{fmt.Errorf("read %s: %w", name, err)}
		}
		value := strings.TrimRight(string(text), "\r\n")
		if value == "" {
			return "", &Mistake{fmt.Errorf("%s: the file %s is empty", name, at)}
		}
		return value, nil
	}
	return "", &Mistake{fmt.Errorf("%s must be a reference: file:PATH or env:NAME", name)}
}

// String is the address without its parameters, for messages.
func (a Address) String() string {
	u := url.URL{Scheme: a.Scheme, Host: a.Host, Path: "/" + a.Path}
	text := u.String()
	if a.User == "" {
		return text
	}
	return a.Scheme + "://" + typed.Replace(url.User(a.User).String()) + "@" + strings.TrimPrefix(text, a.Scheme+"://")
}

// typed are escapes of accounts that nobody types, such as that of root@pam!name.
var typed = strings.NewReplacer("%40", "@", "%21", "!")
