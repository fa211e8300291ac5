package kernel

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
)

const release = "6.1.0-99-cloud-amd64"

// plainKernel is the smallest ELF file that is taken for a kernel, with a PVH
// note or without.
func plainKernel(pvh bool) []byte {
	var notes []byte
	note := func(owner string, kind uint32, content []byte) {
		notes = binary.LittleEndian.AppendUint32(notes, uint32(len(owner)))
		notes = binary.LittleEndian.AppendUint32(notes, uint32(len(content)))
		notes = binary.LittleEndian.AppendUint32(notes, kind)
		notes = append(notes, owner...)
		notes = append(notes, make([]byte, (4-len(owner)%4)%4)...)
		notes = append(notes, content...)
		notes = append(notes, make([]byte, (4-len(content)%4)%4)...)
	}
	note("Linux\x00", 18, []byte("not it"))
	if pvh {
		note("Xen\x00", 18, []byte{0, 0, 0, 1, 0, 0, 0, 0})
	}
	e := make([]byte, 64+56)
	copy(e, "\x7fELF\x02\x01\x01")
	le := binary.LittleEndian
	le.PutUint16(e[16:], 2)
	le.PutUint16(e[18:], 62)
	le.PutUint32(e[20:], 1)
	le.PutUint64(e[32:], 64)
	le.PutUint16(e[52:], 64)
	le.PutUint16(e[54:], 56)
	le.PutUint16(e[56:], 1)
	le.PutUint16(e[58:], 64)
	p := e[64:]
	le.PutUint32(p, 4)
	le.PutUint64(p[8:], 120)
	le.PutUint64(p[32:], uint64(len(notes)))
	le.PutUint64(p[40:], uint64(len(notes)))
	e = append(e, notes...)
	return append(e, "\x00Linux version %s (%s)\x00Linux version "+release+" (somebody@somewhere) #1\x00"...)
}

// bzImage wraps what is packed as the kernel's build does.
func bzImage(packed []byte, plain int, appended bool) []byte {
	image := make([]byte, 2*512)
	le := binary.LittleEndian
	image[setupSectors] = 1
	copy(image[bootMagic:], "HdrS")
	le.PutUint16(image[bootVersion:], 0x20f)
	le.PutUint16(image[releasePointer:], 0x300-0x200)
	copy(image[0x300:], release+" (somebody@somewhere) #1\x00")
	le.PutUint32(image[payloadOffset:], 16)
	if appended {
		packed = le.AppendUint32(packed, uint32(plain))
	}
	le.PutUint32(image[payloadLength:], uint32(len(packed)))
	image = append(image, make([]byte, 16)...)
	return append(append(image, packed...), "what follows"...)
}

func zstdImage(t testing.TB, plain []byte) []byte {
	t.Helper()
	z, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	return bzImage(z.EncodeAll(plain, nil), len(plain), true)
}

func gzipImage(plain []byte) []byte {
	var g bytes.Buffer
	w := gzip.NewWriter(&g)
	_, _ = w.Write(plain)
	_ = w.Close()
	return bzImage(g.Bytes(), len(plain), false)
}

func TestExtract(t *testing.T) {
	plain := plainKernel(true)
	for name, image := range map[string][]byte{"zstd": zstdImage(t, plain), "gzip": gzipImage(plain)} {
		got, err := extract(image)
		if err != nil || !bytes.Equal(got, plain) {
			t.Errorf("%s: %d bytes, %v", name, len(got), err)
		}
		if v, err := releaseOf(image); v != release || err != nil {
			t.Errorf("%s: version %q, %v", name, v, err)
		}
		if _, err := extract(image[:len(image)-40]); err == nil || !strings.Contains(err.Error(), "truncated") {
			t.Errorf("%s, cut off: %v", name, err)
		}
	}
	if !hasPVH(plain) || hasPVH(plainKernel(false)) || hasPVH(plain[:100]) {
		t.Error("the PVH note is seen where it is not, or not where it is")
	}
	if v, err := banner(plain); v != release || err != nil {
		t.Errorf("version %q, %v", v, err)
	}
	if _, err := extract(bzImage([]byte("a packing from the future"), 100, true)); err == nil {
		t.Error("anything is taken for a kernel")
	}
	lying := zstdImage(t, plain)
	end := len(lying) - len("what follows")
	binary.LittleEndian.PutUint32(lying[end-4:], uint32(len(plain)+1))
	if _, err := extract(lying); err == nil || !strings.Contains(err.Error(), "header says") {
		t.Errorf("a wrong length: %v", err)
	}
}

func FuzzExtract(f *testing.F) {
	f.Add(zstdImage(f, plainKernel(true)))
	f.Add(gzipImage(plainKernel(false)))
	f.Add(plainKernel(true))
	f.Fuzz(func(t *testing.T, image []byte) {
		if len(image) > 1<<16 {
			return
		}
		if v, err := releaseOf(image); err == nil && (v == "" || strings.ContainsAny(v, "/ \x00\n")) {
			t.Fatalf("version %q", v)
		}
		if isBzImage(image) { // keeps an appended length small, or nothing but memory is tested
			at := len(image) - 4
			image[at+3], image[at+2] = 0, image[at+2]&0xf
		}
		if plain, err := extract(image); err == nil {
			hasPVH(plain)
			_, _ = banner(plain)
		}
		hasPVH(image)
	})
}
