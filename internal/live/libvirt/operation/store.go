package operation

import (
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"strings"

	"plimsoll/internal/libvirt"
)

// poolOf is the first storage pool of a list's datastores; the others are folders.
func poolOf(datastores []string) string {
	for _, name := range datastores {
		if !strings.HasPrefix(name, "/") {
			return name
		}
	}
	return ""
}

// diskOf is the volume of a domain.
func diskOf(domain string) string { return domain + ".qcow2" }

// volume describes a thin volume.
func volume(name string, size int64) string {
	return fmt.Sprintf("<volume><name>%s</name><capacity unit='bytes'>%d</capacity><allocation>0</allocation><target><format type='qcow2'/></target></volume>", name, size)
}

func (c *client) poolOn(ctx context.Context, name string) (p libvirt.Pool, err error) {
	h, err := c.host(name)
	if err != nil {
		return p, err
	}
	return libvirt.Host{Conn: h.conn()}.Pool(ctx, c.pool)
}

// findPool finds the folder of the pool, which must be the same on all hosts.
func (c *client) findPool(ctx context.Context) error {
	for _, h := range c.hosts {
		p, err := c.poolOn(ctx, h.Name)
		if err != nil {
			return fmt.Errorf("host %s: %w", h.Name, err)
		}
		text, err := p.Description(ctx)
		if err != nil {
			return fmt.Errorf("host %s: %w", h.Name, err)
		}
		var is struct {
			Type string `xml:"type,attr"`
			Path string `xml:"target>path"`
		}
		if err := xml.Unmarshal([]byte(text), &is); err != nil {
			return fmt.Errorf("host %s: the description of the storage pool %s: %w", h.Name, c.pool, err)
		}
		switch {
		case is.Type != "dir" && is.Type != "netfs" && is.Type != "fs":
			return fmt.Errorf("host %s: the storage pool %s is of type %s, and disks need one of files: dir, fs or netfs", h.Name, c.pool, is.Type)
		case c.plan.folder != "" && is.Path != c.plan.folder:
			return fmt.Errorf("host %s: the storage pool %s is at %s, and elsewhere at %s: migrations need one path", h.Name, c.pool, is.Path, c.plan.folder)
		case is.Path == "":
			return errors.New("the storage pool " + c.pool + " has no path")
		}
		c.plan.folder = is.Path
	}
	return nil
}
