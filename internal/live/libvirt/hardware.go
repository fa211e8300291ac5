package libvirt

import (
	"context"
	"errors"

	"plimsoll/internal/cluster"
	"plimsoll/internal/libvirt"
)

// describe is the hardware of a host, and its UUID.
func describe(ctx context.Context, h libvirt.Host) (c cluster.Host, uuid string, err error) {
	n, err := h.Node(ctx)
	if err != nil {
		return c, "", err
	}
	c = cluster.Host{
		State: cluster.Connected, Memory: n.Memory, MHz: int64(n.MHz),
		Sockets: max(1, n.Cells*n.Sockets), NodesPerSocket: 1, CoresPerNode: max(1, n.Cores), ThreadsPerCore: max(1, n.Threads),
	}
	if c.MHz == 0 {
		c.MHz = assumedMHz
	}
	more, err := h.Capabilities(ctx)
	if errors.Is(err, errors.ErrUnsupported) {
		return c, "", nil
	}
	if err == nil {
		setTopology(&c, more.Cells)
		setCachesAndNodes(&c, more)
	}
	return c, more.UUID, err
}

// core tells cores of a host apart: threads of one have the same siblings. Numbers alone can be those
// of several dies.
type core struct {
	socket, number int
	siblings       string
}

func coreOf(cpu libvirt.CellCPU) core { return core{cpu.Socket, cpu.Core, cpu.Siblings} }

// setTopology derives the topology from equal NUMA nodes. If they differ, that of the daemon stays.
func setTopology(c *cluster.Host, cells []libvirt.Cell) {
	sockets := map[int]bool{}
	cores, threads := 0, 0
	for i, cell := range cells {
		own := map[core]bool{}
		for _, cpu := range cell.CPUs {
			own[coreOf(cpu)] = true
			sockets[cpu.Socket] = true
		}
		if i > 0 && (len(own) != cores || len(cell.CPUs) != threads) {
			return
		}
		cores, threads = len(own), len(cell.CPUs)
	}
	switch {
	case cores == 0 || threads%cores != 0:
	case len(cells)%len(sockets) == 0:
		c.Sockets, c.NodesPerSocket, c.CoresPerNode, c.ThreadsPerCore = len(sockets), len(cells)/len(sockets), cores, threads/cores
	case len(sockets)%len(cells) == 0 && cores%(len(sockets)/len(cells)) == 0:
		c.Sockets, c.NodesPerSocket, c.CoresPerNode, c.ThreadsPerCore = len(sockets), 1, cores/(len(sockets)/len(cells)), threads/cores
	}
}

// setCachesAndNodes sets the minimum number of cores that share a last-level cache, and the memory of
// the smallest NUMA node if nodes differ.
func setCachesAndNodes(c *cluster.Host, more libvirt.Capabilities) {
	last, least := 0, c.CoresPerNode
	for _, b := range more.Banks {
		last = max(last, b.Level)
	}
	for _, b := range more.Banks {
		if b.Level != last {
			continue
		}
		sharing := b.Processors()
		for _, cell := range more.Cells {
			own := map[core]bool{}
			for _, cpu := range cell.CPUs {
				if sharing[cpu.ID] {
					own[coreOf(cpu)] = true
				}
			}
			if len(own) > 0 {
				least = min(least, len(own))
			}
		}
	}
	if least < c.CoresPerNode {
		c.CoresPerCache = least
	}
	if len(more.Cells) == c.Nodes() {
		c.NodeMemory = smallest(more.Cells, c.Memory/int64(c.Nodes()))
	}
}

// smallest is the memory of the smallest node; 0 where it is about that of a mean one. Firmware takes
// some of the first node.
func smallest(cells []libvirt.Cell, mean int64) int64 {
	least := mean
	for _, c := range cells {
		least = min(least, c.Memory)
	}
	const about = 20 // a 20th
	if least < mean-mean/about {
		return max(1, least)
	}
	return 0
}
