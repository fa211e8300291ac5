//go:build linux

package socket

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"syscall"

	"plimsoll/internal/load"
)

// target is where a load goes.
type target struct {
	family, kind int
	address      syscall.Sockaddr
	name         string
	number       int // among the addresses of the load
}

// resolveAll finds the addresses of a job, once.
func resolveAll(ctx context.Context, job load.Job) ([]target, error) {
	var targets []target
	for _, address := range append([]string{job.Address}, job.More...) {
		job.Address = address
		p, err := resolve(ctx, job)
		if err != nil {
			return nil, err
		}
		p.number = len(targets)
		targets = append(targets, p)
	}
	return targets, nil
}

func resolve(ctx context.Context, job load.Job) (target, error) {
	if job.Network == "unix" {
		return target{family: syscall.AF_UNIX, kind: syscall.SOCK_STREAM, address: &syscall.SockaddrUnix{Name: job.Address}, name: job.Address}, nil
	}
	p := target{kind: syscall.SOCK_STREAM, name: job.Address}
	if job.Network == "udp" {
		p.kind = syscall.SOCK_DGRAM
	}
	host, service, err := net.SplitHostPort(job.Address)
	if err != nil {
		return p, fmt.Errorf("address %q: %w", job.Address, err)
	}
	port, err := net.DefaultResolver.LookupPort(ctx, job.Network, service)
	if err != nil {
		return p, fmt.Errorf("address %q: %w", job.Address, err)
	}
	found, err := net.DefaultResolver.LookupIPAddr(ctx, host)
	if err != nil {
		return p, fmt.Errorf("find the address of %s: %w", host, err)
	}
	at := found[0]
	if len(found) > 1 && job.Network == "tcp" {
		at = answering(ctx, found, port, job)
	}
	if four := at.IP.To4(); four != nil {
		p.family, p.address = syscall.AF_INET, &syscall.SockaddrInet4{Port: port, Addr: [4]byte(four)}
		return p, nil
	}
	zone, err := scope(at.Zone)
	if err != nil {
		return p, fmt.Errorf("address %q: %w", job.Address, err)
	}
	p.family, p.address = syscall.AF_INET6, &syscall.SockaddrInet6{Port: port, ZoneId: zone, Addr: [16]byte(at.IP.To16())}
	return p, nil
}

// answering is the first of several addresses with a listener. Without one, the error is
// the first address's.
func answering(ctx context.Context, found []net.IPAddr, port int, job load.Job) net.IPAddr {
	d := net.Dialer{Timeout: job.Timeout}
	for _, a := range found {
		c, err := d.DialContext(ctx, "tcp", net.JoinHostPort(a.String(), strconv.Itoa(port)))
		if err == nil {
			_ = c.Close() // the connection was only a test
			return a
		}
	}
	return found[0]
}

// scope is the number of the interface of a link-local address.
func scope(zone string) (uint32, error) {
	if zone == "" {
		return 0, nil
	}
	if n, err := strconv.ParseUint(zone, 10, 32); err == nil {
		return uint32(n), nil
	}
	i, err := net.InterfaceByName(zone)
	if err != nil {
		return 0, fmt.Errorf("interface %q: %w", zone, err)
	}
	return uint32(i.Index), nil
}
