package disk

import (
	"bytes"
	"encoding/binary"
)

const (
	clusterBits = 16 // 64 KiB, the default of qemu-img
	cluster     = 1 << clusterBits
	copied      = 1 << 63 // the cluster has a reference count of one
)

// QCOW2 writes a disk in QEMU's format, version 3; clusters of zeros take no space
// (docs/interop/qcow2.rst of QEMU).
func QCOW2(raw []byte) []byte {
	be := binary.BigEndian
	clusters := up(len(raw), cluster) / cluster
	l2Tables := up(clusters, cluster/8) / (cluster / 8)
	l1Clusters := up(l2Tables*8, cluster) / cluster
	// A cluster of 16-bit reference counts covers 32768 clusters; the reference count table
	// takes one cluster, with 8192 entries.
	most := 2 + l1Clusters + l2Tables + clusters
	counts := up(most, cluster/2)/(cluster/2) + 1
	table := 1
	l1 := table + 1 + counts
	l2 := l1 + l1Clusters
	next := l2 + l2Tables
	out := make([]byte, next*cluster)
	for i := range clusters {
		part := raw[i*cluster : min((i+1)*cluster, len(raw))]
		if zeros(part) {
			continue
		}
		be.PutUint64(out[l2*cluster+8*i:], uint64(next*cluster)|copied)
		out = append(out, part...)
		out = append(out, make([]byte, cluster-len(part))...)
		next++
	}
	for i := range l2Tables {
		be.PutUint64(out[l1*cluster+8*i:], uint64((l2+i)*cluster)|copied)
	}
	for i := range counts {
		be.PutUint64(out[table*cluster+8*i:], uint64((table+1+i)*cluster))
	}
	for i := range next {
		be.PutUint16(out[(table+1)*cluster+2*i:], 1)
	}
	copy(out, "QFI\xfb")
	be.PutUint32(out[4:], 3)
	be.PutUint32(out[20:], clusterBits)
	be.PutUint64(out[24:], uint64(len(raw)))
	be.PutUint32(out[36:], uint32(l2Tables))
	be.PutUint64(out[40:], uint64(l1*cluster))
	be.PutUint64(out[48:], uint64(table*cluster))
	be.PutUint32(out[56:], 1) // cluster of the reference count table
	be.PutUint32(out[96:], 4) // counts of 2^4 bits
	be.PutUint32(out[100:], 104)
	return out
}

func zeros(b []byte) bool { return len(bytes.Trim(b, "\x00")) == 0 }
