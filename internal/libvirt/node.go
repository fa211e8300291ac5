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
		return 0, fmt.Errorf("query the versions of libvirt: %w", err)
	}
	d := decoder{b: body}
	return Version(d.uint64()), d.end()
}
