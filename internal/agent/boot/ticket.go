package boot

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"plimsoll/internal/agent/optical"
	"plimsoll/internal/agent/remote"
	"plimsoll/internal/agent/tether"
)

const (
	// cdTime limits the wait for the CD, whose drive takes seconds to become ready.
	cdTime = 30 * time.Second
	// dialDelay is the pause between attempts to reach the lab.
	dialDelay = time.Second
)

// serveTicket serves the lab of the ticket on a CD, until it ends the session.
func (g *guest) serveTicket(ctx context.Context) error {
	t, err := findTicket(ctx, "/dev/sr*")
	if err != nil {
		return err
	}
	if err := unix.Sethostname([]byte(t.Name)); err != nil {
		return fmt.Errorf("name the guest: %w", err)
	}
	at, err := connectCard(ctx, t)
	if err != nil {
		return err
	}
	g.say("%s, address %s", t.Name, at)
	m, err := g.Open(ctx)
	if err != nil {
		return err
	}
	server := remote.Server{Machine: m, Version: g.Version}
	for said := ""; ; {
		conn, err := tether.Dial(ctx, t)
		if err == nil {
			g.say("ready at %s", t.Lab)
			if err = server.Serve(ctx, conn); err == nil {
				return nil
			}
		}
		if text := strings.ReplaceAll(err.Error(), "\n", "; "); text != said {
			g.say("%s", text)
			said = text
		}
		if err := pause(ctx, dialDelay); err != nil {
			return err
		}
	}
}

// findTicket reads the ticket from the first CD that has one.
func findTicket(ctx context.Context, drives string) (t tether.Ticket, err error) {
	ctx, cancel := context.WithTimeout(ctx, cdTime)
	defer cancel()
	last := errors.New("the guest has no CD drive, or its kernel no driver for it (ata_piix and sr_mod)")
	for {
		names, err := filepath.Glob(drives)
		if err != nil {
			return t, err
		}
		for _, name := range names {
			text, err := readTicket(name)
			if err == nil {
				return tether.Parse(text)
			}
			last = err
		}
		if pause(ctx, 100*time.Millisecond) != nil {
			return t, fmt.Errorf("find the lab's ticket on a CD: %w", last)
		}
	}
}

func readTicket(drive string) ([]byte, error) {
	f, err := os.Open(drive)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // only read
	return optical.File(f, tether.File)
}

// connectCard gives the first network card the address of a ticket, or one by DHCP.
func connectCard(ctx context.Context, t tether.Ticket) (string, error) {
	l := lease{}
	if t.Address != "" {
		l.prefix, _ = netip.ParsePrefix(t.Address) // checked before
		l.gateway, _ = netip.ParseAddr(t.Gateway)  // may be absent
	}
	device, err := firstCard(ctx)
	if err != nil {
		return "", err
	}
	n, err := openNetlink()
	if err != nil {
		return "", err
	}
	defer n.close()
	if err := n.ask(upMessage(device.Index)); err != nil {
		return "", fmt.Errorf("enable network interface %s: %w", device.Name, err)
	}
	if t.Address == "" {
		if l, err = requestLease(ctx, device); err != nil {
			return "", err
		}
		go renew(ctx, device, l)
	}
	if err := n.set(device, l); err != nil {
		return "", err
	}
	return l.prefix.Addr().String(), nil
}
