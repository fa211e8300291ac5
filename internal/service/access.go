package service

import (
	"errors"
	"fmt"
	"strings"
)

// Access is how one reaches the server of a database, and by TLS or not. A service embeds
// it in its settings, with Verify set in their defaults.
type Access struct {
	Address  string `name:"address" doc:"use the server that listens there, host:port or the path of a socket, instead of starting one"`
	User     string `name:"user" doc:"who plimsoll is at a server that already runs; empty for the first of all users there"`
	Password string `name:"password" doc:"where the password of that user is found: env:NAME or file:PATH"`
	Database string `name:"database" doc:"database there that sessions begin in; empty for the one that every server has, if any"`
	TLS      bool   `name:"tls" doc:"speak TLS; a server that plimsoll starts takes nothing else then, with a certificate made for this run"`
	CA       string `name:"ca" doc:"file with the certificate, in PEM, of who vouches for a server that already runs; empty for those whom this host trusts"`
	Verify   bool   `name:"tls_verify" doc:"look that the certificate of a server that already runs is from there and for the name in address; without it anybody can pose as the server"`
}

// fine are the settings that one can give to a server that already runs.
var fine = []string{"user", "password", "database", "tls", "ca", "tls_verify"}

// Existing is a server that already runs, and who one is there: one of the given name, in a
// database, where the settings do not say. It is nil where one is to be started. Of the
// settings, which embed the Access, it refuses what makes no sense.
func (a Access) Existing(settings, defaults any, user, database string) (*Existing, error) {
	if a.Address == "" {
		return nil, a.private()
	}
	e, err := ParseAddress(a.Address)
	if err != nil {
		return nil, err
	}
	if err := Free(settings, defaults, fine...); err != nil {
		return nil, err
	}
	switch {
	case a.Password != "" && !strings.HasPrefix(a.Password, "env:") && !strings.HasPrefix(a.Password, "file:"):
		return nil, errors.New("password: give a reference, env:NAME or file:PATH, not the password itself")
	case !a.TLS && a.CA != "":
		return nil, errors.New("ca is of no effect without TLS: set tls as well, or leave it out")
	case !a.TLS && !a.Verify:
		return nil, errors.New("tls_verify is of no effect without TLS: set tls as well, or leave it out")
	case !a.Verify && a.CA != "":
		return nil, errors.New("ca is of no effect with tls_verify false: leave out one of them")
	}
	e.User, e.Database, e.Secret, e.TLS, e.Unverified = a.User, a.Database, a.Password, a.TLS, !a.Verify
	if e.User == "" {
		e.User = user
	}
	if e.Database == "" {
		e.Database = database
	}
	_, err = e.Secure()
	return &Existing{Endpoint: e, CA: a.CA}, err
}

// private refuses what is for a server that already runs.
func (a Access) private() error {
	for name, set := range map[string]bool{
		"user": a.User != "", "database": a.Database != "", "password": a.Password != "", "ca": a.CA != "", "tls_verify": !a.Verify,
	} {
		if set {
			return fmt.Errorf("%s is for a server that already runs: give its address as well, or leave it out", name)
		}
	}
	return nil
}
