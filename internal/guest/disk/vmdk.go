package disk

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"fmt"
)

const (
	grainSectors = 128 // a grain is 64 KiB
	grain        = grainSectors * sector
	perTable     = 512 // grains in a table
	gdAtEnd      = 1<<64 - 1

	markTable     = 1
	markDirectory = 2
	markFooter    = 3
)

// vmdk writes a disk as a stream-optimized VMDK, the form that is sent around:
// packed grains, then the tables that lead to them (Virtual Disk Format 5.0). Grains
// of zeros take no space.
func vmdk(raw []byte, name string, identity uint32) ([]byte, error) {
	var out bytes.Buffer
	sectors := len(raw) / sector
	out.Write(vmdkHeader(sectors, gdAtEnd))
	out.WriteString(fmt.Sprintf(`# Disk DescriptorFile
version=1
CID=%08x
parentCID=ffffffff
createType="streamOptimized"

# Extent description
RW %d SPARSE %q

# The Disk Data Base
#DDB

ddb.virtualHWVersion = "14"
ddb.geometry.cylinders = "%d"
ddb.geometry.heads = "255"
ddb.geometry.sectors = "63"
ddb.adapterType = "lsilogic"
`, identity, sectors, name, max(1, sectors/(255*63))))
	out.Write(make([]byte, grain-out.Len()))
	var directory []uint32
	for at := 0; at < len(raw); at += perTable * grain {
		table := make([]uint32, perTable)
		used := false
		for i := range table {
			from := at + i*grain
			if from >= len(raw) {
				break
			}
			part := raw[from:min(from+grain, len(raw))]
			if zeros(part) {
				continue
			}
			table[i], used = uint32(out.Len()/sector), true
			if err := writeGrain(&out, from/sector, part); err != nil {
				return nil, err
			}
		}
		if !used {
			directory = append(directory, 0)
			continue
		}
		directory = append(directory, writeTable(&out, markTable, table))
	}
	at := writeTable(&out, markDirectory, directory)
	mark(&out, markFooter, 1)
	out.Write(vmdkHeader(sectors, uint64(at)))
	mark(&out, 0, 0)
	return out.Bytes(), nil
}

func vmdkHeader(sectors int, directory uint64) []byte {
	h := make([]byte, sector)
	le := binary.LittleEndian
	copy(h, "KDMV")
	le.PutUint32(h[4:], 3)
	le.PutUint32(h[8:], 1<<16|1<<17|1) // packed, with markers, and lines end as they should
	le.PutUint64(h[12:], uint64(sectors))
	le.PutUint64(h[20:], grainSectors)
	le.PutUint64(h[28:], 1) // the description: where, and how long
	le.PutUint64(h[36:], 20)
	le.PutUint32(h[44:], perTable)
	le.PutUint64(h[56:], directory)
	le.PutUint64(h[64:], grainSectors)
	copy(h[73:], "\n \r\n")
	le.PutUint16(h[77:], 1) // deflate
	return h
}

func writeGrain(out *bytes.Buffer, first int, part []byte) error {
	var packed bytes.Buffer
	w := zlib.NewWriter(&packed)
	if _, err := w.Write(part); err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	var head [12]byte
	binary.LittleEndian.PutUint64(head[:], uint64(first))
	binary.LittleEndian.PutUint32(head[8:], uint32(packed.Len()))
	out.Write(head[:])
	out.Write(packed.Bytes())
	fill(out)
	return nil
}

// writeTable writes a table behind its marker and returns the sector it begins in.
func writeTable(out *bytes.Buffer, kind uint32, table []uint32) uint32 {
	mark(out, kind, up(len(table)*4, sector)/sector)
	at := uint32(out.Len() / sector)
	for _, n := range table {
		out.Write(binary.LittleEndian.AppendUint32(nil, n))
	}
	fill(out)
	return at
}

// mark gives the type of the next sectors.
func mark(out *bytes.Buffer, kind uint32, sectors int) {
	m := make([]byte, sector)
	binary.LittleEndian.PutUint64(m, uint64(sectors))
	binary.LittleEndian.PutUint32(m[12:], kind)
	out.Write(m)
}

func fill(out *bytes.Buffer) { out.Write(make([]byte, up(out.Len(), sector)-out.Len())) }
