package service

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
)

// Access is the access to a database server, with or without TLS. A service embeds it in its
// settings, with Verify set in their defaults.
type Access struct {
	Address  string `name:"address" doc:"address of a server you provide, host:port or the path of a Unix socket; empty starts one"`
	User     string `name:"user" doc:"user name at a server you provide; empty is the engine's superuser"`
	Password string `name:"password" doc:"source of that user's password: env:NAME or file:PATH"`
	Database string `name:"database" doc:"database to connect to at a server you provide; empty is the engine's default database"`
	TLS      bool   `name:"tls" doc:"require TLS; a server that plimsoll starts gets a certificate made for the run" unsafe:"false"`
	CA       string `name:"ca" doc:"PEM file with the certificate authority of a server you provide; empty is the host's trust store"`
	Verify   bool   `name:"tls_verify" doc:"verify certificate and host name of a server you provide; off, the connection is open to impersonation" unsafe:"false"`
}

// fine are the settings that apply to a running server.
var fine = []string{"user", "password", "database", "tls", "ca", "tls_verify"}

// Existing is a running server, with a default user and database; nil if one is to be started.
// It rejects contradictory settings. Settings is the struct that embeds the Access.
func (a Access) Existing(settings, defaults any, user, database string) (*Existing, error) {
	at, err := Provided(a.Address, settings, defaults, fine...)
	if err != nil {
		return nil, err
	}
	if at == nil {
		return nil, a.private()
	}
	switch {
	case a.Password != "" && !strings.HasPrefix(a.Password, "env:") && !strings.HasPrefix(a.Password, "file:"):
		return nil, errors.New("password: give a reference, env:NAME or file:PATH, not the password itself")
	case !a.TLS && a.CA != "":
		return nil, errors.New("ca requires tls")
	case !a.TLS && !a.Verify:
		return nil, errors.New("tls_verify requires tls")
	case !a.Verify && a.CA != "":
		return nil, errors.New("ca and tls_verify false are mutually exclusive")
	}
	e := &at.Endpoint
	e.User, e.Database = cmp.Or(a.User, user), cmp.Or(a.Database, database)
	e.Secret, e.TLS, e.Unverified = a.Password, a.TLS, !a.Verify
	at.CA = a.CA
	_, err = e.Secure()
	return at, err
}

// private rejects settings that require a running server.
func (a Access) private() error {
	for name, set := range map[string]bool{
		"user": a.User != "", "database": a.Database != "", "password": a.Password != "", "ca": a.CA != "", "tls_verify": !a.Verify,
	} {
		if set {
			return fmt.Errorf("%s requires address: it is for a server you provide", name)
		}
	}
	return nil
}
