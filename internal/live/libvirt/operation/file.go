package operation

import (
	"context"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"plimsoll/internal/libvirt"
)

// volumeNames finds the names of our volumes in the description of a domain. Others, with characters
// that the description would escape, are never taken for ours.
var volumeNames = regexp.MustCompile(`[A-Za-z0-9-]+\.qcow2`)

// Strays lists the volumes of VMs in the pool that no domain of any host mentions. A domain may be
// undefined and defined again meanwhile: it is one of a lab that runs.
func (c *client) Strays(ctx context.Context, prefix string) (paths []string, err error) {
	if c.pool == "" {
		return nil, nil
	}
	p, err := c.poolOn(ctx, c.hosts[0].Name)
	if err != nil {
		return nil, err
	}
	names, err := p.Volumes(ctx)
	if err != nil {
		return nil, err
	}
	left := map[string]bool{}
	for _, name := range names {
		if strings.HasPrefix(name, prefix) && volumeNames.FindString(name) == name {
			left[name] = true
		}
	}
	// Domains are read after the volumes: one that was created since has its volume. Those that are
	// named like the volumes are read first: mostly they have them all.
	for _, like := range []bool{true, false} {
		if len(left) == 0 {
			return nil, nil
		}
		err := c.mentioned(ctx, func(d libvirt.Domain) bool { return strings.HasPrefix(d.Name, prefix) == like }, left)
		if err != nil {
			return nil, fmt.Errorf("look for the domains of volumes: %w", err)
		}
	}
	for name := range left {
		paths = append(paths, filepath.Join(c.plan.folder, name))
	}
	slices.Sort(paths)
	return paths, nil
}

// mentioned removes the volumes from a set that some domains mention, as they run or as they are
// defined.
func (c *client) mentioned(ctx context.Context, look func(libvirt.Domain) bool, volumes map[string]bool) error {
	var mu sync.Mutex
	return c.everywhere(func(h *host) error {
		conn := h.conn()
		all, err := conn.Domains(ctx)
		if err != nil {
			return err
		}
		for _, d := range all {
			if !look(d) {
				continue
			}
			text, err := descriptions(ctx, libvirt.Instance{Conn: conn, Domain: d})
			if err != nil && !libvirt.Missing(err) { // it went while we looked
				return err
			}
			mu.Lock()
			for _, name := range volumeNames.FindAllString(text, -1) {
				delete(volumes, name)
			}
			mu.Unlock()
		}
		return nil
	})
}

// descriptions are those of a domain as it is defined, and of one that is active as it is now.
func descriptions(ctx context.Context, i libvirt.Instance) (string, error) {
	text, err := i.Definition(ctx)
	if err != nil || i.Domain.ID < 0 {
		return text, err
	}
	now, err := i.Conn.XML(ctx, i.Domain)
	return text + now, err
}

// Erase deletes a volume that no domain mentions.
func (c *client) Erase(ctx context.Context, path string) error {
	name := filepath.Base(path)
	strays, err := c.Strays(ctx, strings.TrimSuffix(name, filepath.Ext(name)))
	if err != nil {
		return err
	}
	if !slices.Contains(strays, path) {
		return fmt.Errorf("%s is no volume that is left over: a domain has it, or it has gone", path)
	}
	p, err := c.poolOn(ctx, c.hosts[0].Name)
	if err == nil {
		err = p.Delete(ctx, name)
	}
	return err
}
