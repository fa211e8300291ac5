package disk

import (
	"bufio"
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
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

// Source is the content of a disk.
type Source struct {
	io.ReaderAt
	Size int64 // a multiple of a sector's 512 bytes
}

// extent is a file that is written sequentially.
type extent struct {
	*bufio.Writer
	at int64
}

func (e *extent) Write(p []byte) (int, error) {
	n, err := e.Writer.Write(p)
	e.at += int64(n)
	return n, err
}

// vmdk writes a disk as a stream-optimized VMDK, the transport format: compressed grains,
// followed by their tables (Virtual Disk Format 5.0). Grains of zeros take no space. It
// returns the length of the file.
func vmdk(to io.Writer, disk Source, name string) (int64, error) {
	if disk.Size <= 0 || disk.Size%sector != 0 {
		return 0, fmt.Errorf("a disk of %d bytes: must be whole sectors of %d", disk.Size, sector)
	}
	e := &extent{Writer: bufio.NewWriterSize(to, 1<<20)}
	if err := e.begin(int(disk.Size/sector), name); err != nil {
		return 0, err
	}
	var directory []uint32
	raw := make([]byte, perTable*grain)
	for at := int64(0); at < disk.Size; at += perTable * grain {
		part := raw[:min(perTable*grain, disk.Size-at)]
		if _, err := disk.ReadAt(part, at); err != nil && !errors.Is(err, io.EOF) {
			return 0, fmt.Errorf("read the disk: %w", err)
		}
		table, err := e.grains(part, at)
		if err != nil {
			return 0, err
		}
		directory = append(directory, table)
	}
	at, err := e.table(markDirectory, directory)
	if err != nil {
		return 0, err
	}
	err = errors.Join(e.mark(markFooter, 1), e.put(vmdkHeader(int(disk.Size/sector), uint64(at))), e.mark(0, 0), e.Flush())
	return e.at, err
}

// begin writes the header and the descriptor. The content ID is derived from the name, as the
// content is not known yet.
func (e *extent) begin(sectors int, name string) error {
	identity := crc32.ChecksumIEEE([]byte(name)) &^ 1 // not ffffffff, which means none
	if err := e.put(vmdkHeader(sectors, gdAtEnd)); err != nil {
		return err
	}
	_, err := fmt.Fprintf(e, `# Disk DescriptorFile
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
`, identity, sectors, name, max(1, sectors/(255*63)))
	return errors.Join(err, e.put(make([]byte, grain-e.at)))
}

// grains writes a part of a disk and its grain table, and returns the sector of the table.
func (e *extent) grains(part []byte, at int64) (uint32, error) {
	table := make([]uint32, perTable)
	used := false
	for i := range table {
		if i*grain >= len(part) {
			break
		}
		one := part[i*grain : min((i+1)*grain, len(part))]
		if zeros(one) {
			continue
		}
		table[i], used = uint32(e.at/sector), true
		if err := e.grain(int(at/sector)+i*grainSectors, one); err != nil {
			return 0, err
		}
	}
	if !used {
		return 0, nil
	}
	return e.table(markTable, table)
}

func vmdkHeader(sectors int, directory uint64) []byte {
	h := make([]byte, sector)
	le := binary.LittleEndian
	copy(h, "KDMV")
	le.PutUint32(h[4:], 3)
	le.PutUint32(h[8:], 1<<16|1<<17|1) // compressed, with markers, and a valid newline test
	le.PutUint64(h[12:], uint64(sectors))
	le.PutUint64(h[20:], grainSectors)
	le.PutUint64(h[28:], 1) // the descriptor: offset and length
	le.PutUint64(h[36:], 20)
	le.PutUint32(h[44:], perTable)
	le.PutUint64(h[56:], directory)
	le.PutUint64(h[64:], grainSectors)
	copy(h[73:], "\n \r\n")
	le.PutUint16(h[77:], 1) // deflate
	return h
}

func (e *extent) grain(first int, part []byte) error {
	var packed bytes.Buffer
	w, err := zlib.NewWriterLevel(&packed, zlib.BestSpeed)
	if err != nil {
		return err
	}
	if _, err := w.Write(part); err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	var head [12]byte
	binary.LittleEndian.PutUint64(head[:], uint64(first))
	binary.LittleEndian.PutUint32(head[8:], uint32(packed.Len()))
	return errors.Join(e.put(head[:]), e.put(packed.Bytes()), e.fill())
}

// table writes a table after its marker and returns its first sector.
func (e *extent) table(kind uint32, table []uint32) (uint32, error) {
	err := e.mark(kind, up(len(table)*4, sector)/sector)
	at := uint32(e.at / sector)
	for _, n := range table {
		err = errors.Join(err, e.put(binary.LittleEndian.AppendUint32(nil, n)))
	}
	return at, errors.Join(err, e.fill())
}

// mark gives the type of the next sectors.
func (e *extent) mark(kind uint32, sectors int) error {
	m := make([]byte, sector)
	binary.LittleEndian.PutUint64(m, uint64(sectors))
	binary.LittleEndian.PutUint32(m[12:], kind)
	return e.put(m)
}

func (e *extent) put(p []byte) error {
	_, err := e.Write(p)
	return err
}

func (e *extent) fill() error { return e.put(make([]byte, -e.at&(sector-1))) }
