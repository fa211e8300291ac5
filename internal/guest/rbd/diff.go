package rbd

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
)

const mostRecord = 4 << 20 // bytes of data of a record, as large as an object of an image

// writeDiff writes the data of a sparse file as the difference to an empty image: the client reads it, and holes cost nothing.
//
// Source: Ceph documentation, "Incremental backups with RBD", the format "rbd diff v1".
func writeDiff(to io.Writer, file *os.File, size int64) error {
	out := bufio.NewWriterSize(to, 1<<16)
	out.WriteString("rbd diff v1\ns") // errors are those of Flush
	number(out, size)
	for at := int64(0); at < size; {
		from, end, err := extent(file, at, size)
		if err != nil {
			return fmt.Errorf("read the extents of %s: %w", file.Name(), err)
		}
		for at = from; at < end; {
			n := min(mostRecord, end-at)
			out.WriteByte('w')
			number(out, at)
			number(out, n)
			if _, err := io.Copy(out, io.NewSectionReader(file, at, n)); err != nil {
				return fmt.Errorf("copy %s: %w", file.Name(), err)
			}
			at += n
		}
	}
	out.WriteByte('e')
	return out.Flush()
}

func number(out *bufio.Writer, n int64) {
	out.Write(binary.LittleEndian.AppendUint64(nil, uint64(n)))
}

// extent is the next data of a file from an offset on; size for none.
func extent(file *os.File, at, size int64) (from, end int64, err error) {
	const data, hole = 3, 4 // SEEK_DATA, SEEK_HOLE: lseek(2)
	from, err = file.Seek(at, data)
	if errors.Is(err, syscall.ENXIO) {
		return size, size, nil
	}
	if err == nil {
		end, err = file.Seek(from, hole)
	}
	return from, min(end, size), err
}
