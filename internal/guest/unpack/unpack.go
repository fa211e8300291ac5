// Package unpack decompresses kernels and modules of Linux distributions: gzip, xz, zstd and
// legacy lz4. The format is detected by the first bytes, never by the name.
package unpack

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"
	"github.com/mikelolasagasti/xz"
	"github.com/pierrec/lz4/v4"
)

// Format is a compression format.
type Format string

// The known formats; Plain is anything else.
const (
	Plain Format = ""
	Gzip  Format = "gzip"
	XZ    Format = "xz"
	Zstd  Format = "zstd"
	LZ4   Format = "lz4"
)

// Probe detects the format from the first bytes.
func Probe(head []byte) Format {
	for _, m := range []struct {
		magic  string
		format Format
	}{
		{"\x1f\x8b\x08", Gzip},
		{"\xfd7zXZ\x00", XZ},
		{"\x28\xb5\x2f\xfd", Zstd},
		{"\x02\x21\x4c\x18", LZ4},
	} {
		if bytes.HasPrefix(head, []byte(m.magic)) {
			return m.format
		}
	}
	return Plain
}

// window is the maximum dictionary size in bytes: the kernel's own build uses up to 128 MiB.
const window = 128 << 20

// All returns the decompressed data, or the data itself if it is plain. More than limit bytes
// are an error, so that a small file cannot fill the memory.
func All(packed []byte, limit int64) ([]byte, error) {
	r, err := reader(packed)
	if err != nil {
		return nil, err
	}
	out, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err != nil {
		return nil, fmt.Errorf("unpack %s: %w", Probe(packed), err)
	}
	if int64(len(out)) > limit {
		return nil, fmt.Errorf("unpack %s: more than %d bytes", Probe(packed), limit)
	}
	return out, nil
}

func reader(packed []byte) (io.Reader, error) {
	in := bytes.NewReader(packed)
	switch f := Probe(packed); f {
	case Gzip:
		z, err := gzip.NewReader(in)
		if err != nil {
			return nil, fmt.Errorf("unpack %s: %w", f, err)
		}
		z.Multistream(false)
		return z, nil
	case XZ:
		z, err := xz.NewReader(in, window)
		if err != nil {
			return nil, fmt.Errorf("unpack %s: %w", f, err)
		}
		z.Multistream(false)
		return z, nil
	case Zstd:
		z, err := zstd.NewReader(in, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(window), zstd.WithDecoderLowmem(true))
		if err != nil {
			return nil, fmt.Errorf("unpack %s: %w", f, err)
		}
		return z.IOReadCloser(), nil
	case LZ4:
		return &blocks{in: packed[4:]}, nil
	}
	return in, nil
}

// blocks reads the legacy format of lz4, which only kernels still use: after the magic number,
// blocks of up to 8 MiB, each preceded by its compressed length.
type blocks struct {
	in, out, room []byte
}

// largest is the maximum size of an unpacked block, in bytes.
const largest = 8 << 20

func (b *blocks) Read(p []byte) (int, error) {
	for len(b.out) == 0 {
		if len(b.in) == 0 {
			return 0, io.EOF
		}
		if len(b.in) < 4 {
			return 0, io.ErrUnexpectedEOF
		}
		n := int64(binary.LittleEndian.Uint32(b.in))
		if n > int64(len(b.in)-4) {
			return 0, io.ErrUnexpectedEOF
		}
		if n == 0 {
			return 0, errors.New("an empty block")
		}
		if b.room == nil {
			b.room = make([]byte, largest)
		}
		got, err := lz4.UncompressBlock(b.in[4:4+n], b.room)
		if err != nil {
			return 0, err
		}
		b.in, b.out = b.in[4+n:], b.room[:got]
	}
	n := copy(p, b.out)
	b.out = b.out[n:]
	return n, nil
}
