// Package optical writes and reads the image of a CD with one small file: ISO 9660 (ECMA-119),
// level 1. Hypervisors attach such an image as a CD, and a guest needs no file system to read
// it.
package optical

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"
)

const (
	sector = 2048
	// Most is the size of the largest file.
	Most = 1 << 20

	primary   = 16 // reserved sectors at the start of a disc
	end       = 17
	tableLE   = 18
	tableBE   = 19
	root      = 20
	content   = 21
	rowLength = 34 // of a directory record, without the name
)

// Image is a CD with a file. The name has at most 8 capital letters and digits, a point, and 3
// more.
func Image(name string, file []byte) ([]byte, error) {
	if base, suffix, _ := strings.Cut(name, "."); base == "" || len(base) > 8 || len(suffix) > 3 || strings.Trim(base+suffix, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") != "" {
		return nil, fmt.Errorf("create a CD image: %q is not a name of ISO 9660, level 1", name)
	}
	if len(file) > Most {
		return nil, fmt.Errorf("create a CD image: %s has %d bytes, more than %d", name, len(file), Most)
	}
	sectors := content + max(1, (len(file)+sector-1)/sector)
	out := make([]byte, sectors*sector)
	copy(out[content*sector:], file)
	own := row("\x00", root, sector, true)
	folder := bytes.Join([][]byte{own, row("\x01", root, sector, true), row(name+";1", content, len(file), false)}, nil)
	copy(out[root*sector:], folder)
	describe(out[primary*sector:], sectors, own)
	copy(out[end*sector:], "\xffCD001\x01")
	for at, order := range map[int]binary.AppendByteOrder{tableLE: binary.LittleEndian, tableBE: binary.BigEndian} {
		table := order.AppendUint16(order.AppendUint32([]byte{1, 0}, root), 1)
		copy(out[at*sector:], table)
	}
	return out, nil
}

// describe writes the primary volume descriptor.
func describe(d []byte, sectors int, root []byte) {
	copy(d, "\x01CD001\x01")
	for i := 8; i < 813; i++ { // texts
		d[i] = ' '
	}
	clear(d[72:190])
	copy(d[40:], "PLIMSOLL")
	put32(d[80:], sectors)
	put16(d[120:], 1)
	put16(d[124:], 1)
	put16(d[128:], sector)
	put32(d[132:], 10) // size of a path table
	binary.LittleEndian.PutUint32(d[140:], tableLE)
	binary.BigEndian.PutUint32(d[148:], tableBE)
	copy(d[156:], root)
	for at := 813; at < 881; at += 17 { // unknown times
		copy(d[at:], "0000000000000000\x00")
	}
	d[881] = 1
}

// row is a directory record.
func row(name string, at, size int, folder bool) []byte {
	r := make([]byte, (rowLength+len(name))/2*2)
	r[0] = byte(len(r))
	put32(r[2:], at)
	put32(r[10:], size)
	copy(r[18:], []byte{70, 1, 1, 0, 0, 0, 0})
	if folder {
		r[25] = 2
	}
	put16(r[28:], 1)
	r[32] = byte(len(name))
	copy(r[33:], name)
	return r
}

func put16(to []byte, n int) {
	binary.LittleEndian.PutUint16(to, uint16(n))
	binary.BigEndian.PutUint16(to[2:], uint16(n))
}

func put32(to []byte, n int) {
	binary.LittleEndian.PutUint32(to, uint32(n))
	binary.BigEndian.PutUint32(to[4:], uint32(n))
}

// File reads a file of the root directory of a CD.
func File(cd io.ReaderAt, name string) ([]byte, error) {
	d := make([]byte, sector)
	if _, err := cd.ReadAt(d, primary*sector); err != nil {
		return nil, fmt.Errorf("read the CD: %w", err)
	}
	if string(d[:7]) != "\x01CD001\x01" {
		return nil, errors.New("read the CD: it is not of ISO 9660")
	}
	top := d[156:190]
	folder, err := extent(cd, top)
	if err != nil {
		return nil, err
	}
	for len(folder) > 0 {
		size := int(folder[0])
		if size == 0 { // the rest of a sector is empty
			rest := len(folder) % sector
			if rest == 0 {
				rest = sector
			}
			folder = folder[min(len(folder), rest):]
			continue
		}
		if size < rowLength || size > len(folder) || rowLength-1+int(folder[32]) > size {
			return nil, errors.New("read the CD: its folder is damaged")
		}
		called, _, _ := strings.Cut(string(folder[33:33+int(folder[32])]), ";")
		if called == name && folder[25]&2 == 0 {
			return extent(cd, folder[:size])
		}
		folder = folder[size:]
	}
	return nil, fmt.Errorf("the CD has no file %s", name)
}

// extent reads the extent of a directory record.
func extent(cd io.ReaderAt, row []byte) ([]byte, error) {
	at, size := binary.LittleEndian.Uint32(row[2:]), binary.LittleEndian.Uint32(row[10:])
	if size > Most {
		return nil, fmt.Errorf("read the CD: a file of %d bytes, more than %d", size, Most)
	}
	b := make([]byte, size)
	if _, err := cd.ReadAt(b, int64(at)*sector); err != nil && !(errors.Is(err, io.EOF) && size == 0) {
		return nil, fmt.Errorf("read the CD: %w", err)
	}
	return b, nil
}
