package libvirt

import (
	"context"
	"fmt"
)

// Version is a release, as libvirt writes it in one number.
type Version uint64

// String is the release with dots.
func (v Version) String() string { return fmt.Sprintf("%d.%d.%d", v/1e6, v/1e3%1e3, v%1e3) }

// LibraryVersion is the release of libvirt that the daemon is.
func (c *Conn) LibraryVersion(ctx context.Context) (Version, error) {
	return c.version(ctx, procLibVersion)
}

// HypervisorVersion is the release of what runs the domains, such as QEMU.
func (c *Conn) HypervisorVersion(ctx context.Context) (Version, error) {
	return c.version(ctx, procVersion)
}

func (c *Conn) version(ctx context.Context, procedure int32) (Version, error) {
	body, err := c.call(ctx, procedure, nil)
	if err != nil {
		return 0, fmt.Errorf("ask libvirt for versions: %w", err)
	}
	d := decoder{b: body}
	return Version(d.uint64()), d.end()
}

// Hostname is the name of the machine that the daemon runs on.
func (c *Conn) Hostname(ctx context.Context) (string, error) {
	return c.text(ctx, "the name of its machine", procHostname)
}

// Capabilities describe, in XML, the machine and what domains it can run.
func (c *Conn) Capabilities(ctx context.Context) (string, error) {
	return c.text(ctx, "what it can run", procCapabilities)
}

func (c *Conn) text(ctx context.Context, what string, procedure int32) (string, error) {
	body, err := c.call(ctx, procedure, nil)
	if err != nil {
		return "", fmt.Errorf("ask libvirt for %s: %w", what, err)
	}
	d := decoder{b: body}
	return d.string(), d.end()
}
