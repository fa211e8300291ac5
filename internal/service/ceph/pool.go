package ceph

import (
	"context"
	"fmt"
	"math"
	"path"
	"time"

	"plimsoll/internal/load"
	"plimsoll/internal/parameter"
	"plimsoll/internal/platform"
	"plimsoll/internal/service/ceph/crush"
)

// policy is how images are stored. Each has a pool of a private cluster. Data under an erasure code has a pool of its own beside it, because
// headers of images need one with copies.
type policy struct {
	redundancy            redundancy
	compression, checksum string
	sites, machines       int
}

// The numbers of placement groups of a pool.
const (
	groups       = 32
	headerGroups = 8 // without data
)

// adapts are the settings that are those of a pool, or of the router.
var adapts = []string{"redundancy", "compression", "checksum", "network_rate", "network_latency", "site_latency"}

// policy is how images are stored on so many machines.
func (s Settings) policy(machines int) (p policy, err error) {
	p = policy{compression: s.Compression, checksum: s.Checksum, sites: s.Sites, machines: machines}
	p.redundancy, err = parseRedundancy(s.Redundancy)
	return p, err
}

// name is the name of the pool, such as plimsoll-ec2-1-lz4.
func (p policy) name() string {
	name := fmt.Sprintf("plimsoll-r%d", p.redundancy.copies)
	if p.erasureCoded() {
		name = "plimsoll-" + p.profile()
	}
	if p.compression != defaults().Compression {
		name += "-" + p.compression
	}
	if p.checksum != defaults().Checksum {
		name += "-" + p.checksum
	}
	return name
}

func (p policy) erasureCoded() bool { return p.redundancy.copies == 0 }

// profile is the name of the erasure code.
func (p policy) profile() string {
	return fmt.Sprintf("ec%d-%d", p.redundancy.data, p.redundancy.coding)
}

// data is the name of the pool that holds the data.
func (p policy) data() string {
	if p.erasureCoded() {
		return p.name() + "-data"
	}
	return p.name()
}

// commands are the commands for the monitor that make the pool.
func (p policy) commands() (all []string) {
	say := func(format string, args ...any) { all = append(all, fmt.Sprintf(format, args...)) }
	copies, n := p.redundancy.copies, groups
	if p.erasureCoded() {
		copies, n = 1+p.redundancy.coding, headerGroups // headers survive what their data survives
	}
	rule, domain := crush.Rule(p.sites, copies), "osd"
	if p.machines > 1 && p.redundancy.chunks() <= p.machines {
		rule, domain = crush.Machines, "host"
		say("osd crush rule create-replicated %s default %s", rule, domain)
	}
	say("osd pool create %s %d %d replicated %s", p.name(), n, n, rule)
	say("osd pool set %s size %d --yes-i-really-mean-it", p.name(), copies)
	say("osd pool set %s min_size %d", p.name(), least(p.sites, copies))
	say("osd pool application enable %s rbd", p.name())
	if p.erasureCoded() {
		say("osd erasure-code-profile set %s k=%d m=%d crush-failure-domain=%s", p.profile(), p.redundancy.data, p.redundancy.coding, domain)
		say("osd pool create %s %d %d erasure %s", p.data(), groups, groups, p.profile())
		say("osd pool set %s allow_ec_overwrites true", p.data())
		say("osd pool set %s min_size %d", p.data(), p.redundancy.data)
		say("osd pool application enable %s rbd", p.data())
	}
	if p.compression != "none" {
		say("osd pool set %s compression_algorithm %s", p.data(), p.compression)
		say("osd pool set %s compression_mode aggressive", p.data())
	}
	say("osd pool set %s csum_type %s", p.data(), p.checksum)
	return all
}

// confFile is the name of the configuration of clients of the pool.
func (p policy) confFile() string { return p.name() + ".conf" }

// conf adds to the configuration of a cluster, which ends with its section for clients, where they make images.
func (p policy) conf(cluster []byte) []byte {
	if !p.erasureCoded() {
		return cluster
	}
	return fmt.Appendf(cluster[:len(cluster):len(cluster)], "rbd default data pool = %s\n", p.data())
}

// making is at most how long a new pool takes until all its placement groups are clean.
const making = time.Minute

// adapt has the network and the images in the pool of other settings, and makes that pool where it is missing.
func (c *cluster) adapt(ctx context.Context, settings parameter.Settings) (map[string]load.Endpoint, error) {
	s := defaults()
	if err := parameter.Decode(&s, settings); err != nil {
		return nil, err
	}
	p, err := s.policy(len(c.daemons.places))
	if err != nil {
		return nil, err
	}
	if err := c.network.change(ctx, s.links()); err != nil {
		return nil, err
	}
	id, err := c.identify(ctx, p)
	if err == nil && id == 0 {
		err = c.makePool(ctx, p)
	}
	if err != nil {
		return nil, fmt.Errorf("make pool %s: %w", p.name(), err)
	}
	now, err := c.daemons.space(ctx)
	if err != nil {
		return nil, err
	}
	c.space.turn(p.name(), now)
	c.mu.Lock()
	c.policy = p
	c.mu.Unlock()
	capacity, err := c.capacity(ctx, s, p)
	return c.endpoints(p, capacity), err
}

// makePool makes a pool, and returns once it serves.
func (c *cluster) makePool(ctx context.Context, p policy) error {
	if err := c.monitor.Order(ctx, p.commands()...); err != nil {
		return err
	}
	at := c.daemons.places[0]
	if err := at.machine.WriteFile(ctx, path.Join(at.dir, p.confFile()), p.conf(c.text)); err != nil {
		return err
	}
	id, err := c.identify(ctx, p)
	if err != nil {
		return err
	}
	return until(ctx, making, "clean placement groups", func(ctx context.Context) (string, error) {
		n, err := c.daemons.clean(ctx, id)
		if n < groups && err == nil {
			return fmt.Sprintf("%d of %d are", n, groups), nil
		}
		return "", err
	})
}

// endpoints are where clients find the pool.
func (c *cluster) endpoints(p policy, capacity int64) map[string]load.Endpoint {
	at := load.Endpoint{Network: "ceph", Address: path.Join(c.daemons.places[0].dir, p.confFile()), Database: p.name(), Capacity: capacity}
	if c.reachable {
		at.Config = p.conf(c.text)
	}
	return map[string]load.Endpoint{protocol: at}
}

// capacity is how much data the pool of the images can hold beside what others hold: on the OSDs until they are nearly full, and on the disk.
func (c *cluster) capacity(ctx context.Context, s Settings, p policy) (int64, error) {
	all, err := c.daemons.space(ctx)
	if err != nil {
		return 0, err
	}
	own := c.space.of(all).allocated
	most := s.capacity(p.redundancy, all.allocated-own)
	for machine, at := range c.daemons.places {
		share := float64(len(c.daemons.on(machine))) / float64(c.daemons.osds)
		most = min(most, room(ctx, at, p.redundancy, own, share))
	}
	return most, nil
}

const nearlyFull = .85 // mon_osd_nearfull_ratio

// raw is how many bytes the OSDs hold before they are nearly full.
func (s Settings) raw() float64 { return nearlyFull * float64(s.Size) * float64(s.holding()) }

// capacity is how much data the cluster holds beside what others take before OSDs are nearly full.
func (s Settings) capacity(r redundancy, others float64) int64 {
	return int64(max(1, s.raw()-others) / r.amplification())
}

// room is how much data with redundancy has space on the disk of a machine that holds a share of it, if there is some already.
func room(ctx context.Context, at place, r redundancy, own, share float64) int64 {
	const spare = .9
	out, err := at.machine.Run(ctx, platform.Command{Argv: []string{"stat", "--file-system", "--format", "%a %S", "--", at.dir}})
	var blocks, size int64
	if _, failed := fmt.Sscan(string(out.Stdout), &blocks, &size); err != nil || failed != nil {
		return math.MaxInt64
	}
	return int64((own + spare*float64(blocks)*float64(size)/share) / r.amplification())
}
