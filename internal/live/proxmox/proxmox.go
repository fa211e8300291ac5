// Package proxmox is a live cluster of Proxmox VE.
package proxmox

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"plimsoll/internal/live"
	"plimsoll/internal/proxmox"
)

// Kind is the management interface of Proxmox VE.
func Kind() live.Kind {
	return live.Kind{
		Scheme:  "proxmox",
		Doc:     "a cluster of Proxmox VE, through any of its nodes",
		Example: "proxmox://root@pam!plimsoll@pve1.example/?token=file:/run/secrets/pve",
		Open:    open,
	}
}

// usualPoll is the interval at which nodes publish the load of their guests.
const usualPoll = 10 * time.Second

// Connect opens a client for the cluster of an address.
func Connect(ctx context.Context, at live.Address) (c *proxmox.Client, poll time.Duration, err error) {
	if err := at.Allow("password", "token", "ca", "fingerprint", "poll"); err != nil {
		return nil, 0, err
	}
	a, poll, err := accountOf(at)
	if err != nil {
		return nil, 0, &live.Mistake{Err: err}
	}
	c, err = proxmox.Open(ctx, a)
	return c, poll, err
}

func open(ctx context.Context, at live.Address) (live.Connection, error) {
	c, poll, err := Connect(ctx, at)
	if err != nil {
		return live.Connection{}, err
	}
	name, err := identity(ctx, c)
	if err != nil {
		c.Close()
		return live.Connection{}, err
	}
	s := newSource(c, poll)
	return live.Connection{Source: s, Hand: &hand{s}, Shaper: &hand{s}, Identity: []string{name}, MostMoves: mostMoves, Close: func() error { c.Close(); return nil }}, nil
}

// mostMoves is the default number of concurrent tasks of a Proxmox VE node.
const mostMoves = 4

// identity is the fingerprint of the cluster's own certificate authority, which all its nodes
// share. If no node reports it, it is the names of the cluster and of its nodes.
func identity(ctx context.Context, c *proxmox.Client) (string, error) {
	members, err := c.Members(ctx)
	if err != nil {
		return "", fmt.Errorf("identify the cluster: %w", err)
	}
	name, nodes := "", []string{}
	for _, m := range members {
		if m.Type == "cluster" {
			name = m.Name
			continue
		}
		nodes = append(nodes, m.Name)
		if m.Online == 0 {
			continue
		}
		list, err := c.Certificates(ctx, m.Name)
		if err != nil {
			continue // another node may report it
		}
		if i := slices.IndexFunc(list, func(c proxmox.Certificate) bool { return c.File == "pve-root-ca.pem" && c.Fingerprint != "" }); i >= 0 {
			return "proxmox/authority/" + list[i].Fingerprint, nil
		}
	}
	slices.Sort(nodes)
	return "proxmox/" + name + "/" + strings.Join(nodes, ","), ctx.Err()
}

// accountOf parses the address.
func accountOf(at live.Address) (a proxmox.Account, poll time.Duration, err error) {
	switch {
	case at.Host == "":
		return a, 0, errors.New("the address of a Proxmox VE cluster names one of its nodes, such as proxmox://root@pam@pve1/?password=env:PVE")
	case strings.Trim(at.Path, "/") != "":
		return a, 0, fmt.Errorf("the address of a Proxmox VE cluster has no path: %s", at)
	}
	poll = usualPoll
	if text, given := at.Parameters["poll"]; given {
		if poll, err = time.ParseDuration(text); err != nil || poll < 10*time.Millisecond || poll > time.Hour {
			return a, 0, fmt.Errorf("poll is %q: must be a time from 10ms to 1h", text)
		}
	}
	a = proxmox.Account{Host: at.Host, User: at.User, CA: at.Parameters["ca"], Fingerprint: at.Parameters["fingerprint"]}
	if a.Password, err = at.Secret("password"); err != nil {
		return a, 0, err
	}
	if a.Token, err = at.Secret("token"); err != nil {
		return a, 0, err
	}
	return a, poll, a.Check()
}
