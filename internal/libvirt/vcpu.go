package libvirt

import (
	"context"
	"fmt"
	"time"
)

// VCPU is a virtual CPU as the host sees it.
type VCPU struct {
	Number int
	Time   time.Duration // on a CPU, since it began
	CPU    int           // of the host that it is on; below 0 for none
	Pin    []int         // CPUs of the host that it may use
}

const (
	mostVCPUs = 512
	mostCPUs  = 4096 // of a host
)

// VCPUs are the virtual CPUs of a running domain.
func (c *Conn) VCPUs(ctx context.Context, v Domain) ([]VCPU, error) {
	const mapSize = mostCPUs / 8
	d, err := c.of(ctx, "ask for the vCPUs of", procVCPUs, v, mostVCPUs, mapSize)
	if err != nil {
		return nil, err
	}
	const least = 4 + 4 + 8 + 4
	all := make([]VCPU, d.count(least))
	for i := range all {
		all[i].Number = int(d.uint32())
		d.int32() // running or not
		all[i].Time = time.Duration(d.uint64())
		all[i].CPU = int(d.int32())
	}
	maps := d.bytes()
	if err := d.end(); err != nil {
		return nil, err
	}
	if len(maps) < len(all)*mapSize { // some drivers send as many as were asked for
		return nil, fmt.Errorf("the vCPUs of domain %s: %d bytes tell the CPUs of %d of them", v.Name, len(maps), len(all))
	}
	for i := range all {
		for cpu := range mostCPUs {
			if maps[i*mapSize+cpu/8]&(1<<(cpu%8)) != 0 {
				all[i].Pin = append(all[i].Pin, cpu)
			}
		}
	}
	return all, nil
}

// Pin lets a vCPU of a running domain use some CPUs of the host and no others.
func (c *Conn) Pin(ctx context.Context, v Domain, vcpu int, cpus []int) error {
	var set []byte
	for _, cpu := range cpus {
		if cpu < 0 || cpu >= mostCPUs {
			return fmt.Errorf("pin a vCPU of domain %s: CPU %d: want 0 to %d", v.Name, cpu, mostCPUs-1)
		}
		for len(set) <= cpu/8 {
			set = append(set, 0)
		}
		set[cpu/8] |= 1 << (cpu % 8)
	}
	e := encoder{}
	v.encode(&e)
	e.uint32(uint32(vcpu))
	e.bytes(set)
	if _, err := c.call(ctx, procPinVCPU, e.b); err != nil {
		return fmt.Errorf("pin vCPU %d of domain %s: %w", vcpu, v.Name, err)
	}
	return nil
}
