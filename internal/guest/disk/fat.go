package disk

import (
	"encoding/binary"
	"fmt"
)

const (
	sector       = 512
	reserved     = 32    // sectors before the first FAT
	leastOfFAT32 = 65525 // clusters; fewer would be read as FAT16
	rootCluster  = 2
	endOfChain   = 0x0fffffff
	fatDirectory = 0x10
	fatFile      = 0x20
)

// file is a file of the volume; name has eleven characters, FAT's form of NAME.EXT.
type file struct {
	name     string
	content  []byte
	children []file // of a folder
	folder   bool
}

// volume is a FAT32 file system that is filled once, from the start.
type volume struct {
	sectors int // in all
	cluster int // sectors in a cluster
	fat     []uint32
	data    []byte // from the root folder's cluster on
}

// fat32 makes a file system of so many sectors that contains the files (Microsoft's FAT
// specification 1.03). Times are zero.
func fat32(sectors int, root []file) ([]byte, error) {
	v := &volume{sectors: sectors, cluster: 1}
	if sectors > 260<<20/sector {
		v.cluster = 8
	}
	perFAT := up((sectors-reserved)/v.cluster*4+8, sector) / sector
	clusters := (sectors - reserved - 2*perFAT) / v.cluster
	if clusters < leastOfFAT32 {
		return nil, fmt.Errorf("a volume of %d sectors is too small for FAT32", sectors)
	}
	v.fat = append(v.fat, 0x0ffffff8, endOfChain)
	first := v.reserve(len(root) * 32)
	if err := v.folder(first, first, root); err != nil {
		return nil, err
	}
	if len(v.fat)-2 > clusters {
		return nil, fmt.Errorf("%d clusters do not fit on a volume of %d", len(v.fat)-2, clusters)
	}
	out := make([]byte, sectors*sector)
	boot := v.bootSector(perFAT)
	info := infoSector(clusters-(len(v.fat)-2), len(v.fat))
	copy(out, boot)
	copy(out[sector:], info)
	copy(out[6*sector:], boot) // the copies that the format requires
	copy(out[7*sector:], info)
	for n := range 2 {
		table := out[(reserved+n*perFAT)*sector:]
		for i, next := range v.fat {
			binary.LittleEndian.PutUint32(table[4*i:], next)
		}
	}
	copy(out[(reserved+2*perFAT)*sector:], v.data)
	return out, nil
}

// reserve allocates a chain of clusters for n bytes and returns its first.
func (v *volume) reserve(n int) int {
	size := v.cluster * sector
	first := len(v.fat)
	count := max(1, up(n, size)/size)
	for i := range count {
		next := uint32(first + i + 1)
		if i == count-1 {
			next = endOfChain
		}
		v.fat = append(v.fat, next)
	}
	v.data = append(v.data, make([]byte, count*size)...)
	return first
}

func (v *volume) at(cluster int) []byte { return v.data[(cluster-rootCluster)*v.cluster*sector:] }

// folder writes a directory with files to a cluster, after the entries for itself and its
// parent.
func (v *volume) folder(self, parent int, files []file) error {
	var rows []byte
	if self != rootCluster {
		above := parent
		if above == rootCluster {
			above = 0
		}
		rows = append(rows, row(".          ", fatDirectory, self, 0)...)
		rows = append(rows, row("..         ", fatDirectory, above, 0)...)
	}
	for _, f := range files {
		if len(f.name) != 11 {
			return fmt.Errorf("%q is not a FAT file name", f.name)
		}
		n, kind := len(f.content), byte(fatFile)
		if f.folder {
			n, kind = (len(f.children)+2)*32, fatDirectory
		}
		first := v.reserve(n)
		if f.folder {
			if err := v.folder(first, self, f.children); err != nil {
				return err
			}
			n = 0
		} else {
			copy(v.at(first), f.content)
		}
		rows = append(rows, row(f.name, kind, first, n)...)
	}
	copy(v.at(self), rows)
	return nil
}

// row is an entry of a folder.
func row(name string, kind byte, cluster, size int) []byte {
	r := make([]byte, 32)
	copy(r, name)
	r[11] = kind
	le := binary.LittleEndian
	le.PutUint16(r[16:], 1<<5|1) // created, read and changed on the first day of FAT's calendar
	le.PutUint16(r[18:], 1<<5|1)
	le.PutUint16(r[24:], 1<<5|1)
	le.PutUint16(r[20:], uint16(cluster>>16))
	le.PutUint16(r[26:], uint16(cluster))
	le.PutUint32(r[28:], uint32(size))
	return r
}

func (v *volume) bootSector(perFAT int) []byte {
	b := make([]byte, sector)
	le := binary.LittleEndian
	copy(b, "\xeb\x58\x90PLIMSOLL")
	le.PutUint16(b[11:], sector)
	b[13] = byte(v.cluster)
	le.PutUint16(b[14:], reserved)
	b[16] = 2
	b[21] = 0xf8
	le.PutUint16(b[24:], 63)
	le.PutUint16(b[26:], 255)
	le.PutUint32(b[28:], firstSector)
	le.PutUint32(b[32:], uint32(v.sectors))
	le.PutUint32(b[36:], uint32(perFAT))
	le.PutUint32(b[44:], rootCluster)
	le.PutUint16(b[48:], 1)
	le.PutUint16(b[50:], 6)
	b[64], b[66] = 0x80, 0x29
	copy(b[67:], "PLIMNO NAME    FAT32   ")
	b[510], b[511] = 0x55, 0xaa
	return b
}

func infoSector(free, next int) []byte {
	b := make([]byte, sector)
	le := binary.LittleEndian
	copy(b, "RRaA")
	copy(b[484:], "rrAa")
	le.PutUint32(b[488:], uint32(free))
	le.PutUint32(b[492:], uint32(next))
	b[510], b[511] = 0x55, 0xaa
	return b
}
