package guest_test

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"

	"plimsoll/internal/guest/unpack"
)

var text = []byte(strings.Repeat("a kernel is packed once and read at every boot\n", 300))

func packed(t testing.TB) map[unpack.Format][]byte {
	t.Helper()
	var g bytes.Buffer
	w := gzip.NewWriter(&g)
	_, _ = w.Write(text)
	_ = w.Close()
	z, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	room := make([]byte, lz4.CompressBlockBound(len(text)))
	n, err := lz4.CompressBlock(text, room, nil)
	if err != nil || n == 0 {
		t.Fatal(n, err)
	}
	old := binary.LittleEndian.AppendUint32([]byte("\x02\x21\x4c\x18"), uint32(n))
	x, err := os.ReadFile("testdata/text.xz")
	if err != nil {
		t.Fatal(err)
	}
	return map[unpack.Format][]byte{unpack.Plain: text, unpack.Gzip: g.Bytes(), unpack.XZ: x, unpack.Zstd: z.EncodeAll(text, nil), unpack.LZ4: append(old, room[:n]...)}
}

func TestEachFormat(t *testing.T) {
	for format, p := range packed(t) {
		if got := unpack.Probe(p); got != format {
			t.Errorf("%q is taken for %q", format, got)
		}
		got, err := unpack.All(p, int64(len(text)))
		if err != nil || !bytes.Equal(got, text) {
			t.Errorf("%q: %d bytes, %v", format, len(got), err)
		}
		if _, err := unpack.All(p, int64(len(text)-1)); err == nil || !strings.Contains(err.Error(), "more than") {
			t.Errorf("%q beyond the limit: %v", format, err)
		}
		if format == unpack.Plain {
			continue
		}
		if got, err := unpack.All(p[:len(p)/2], 1<<20); err == nil {
			t.Errorf("%q: half of it gave %d bytes and no error", format, len(got))
		}
	}
}

// Archives written by the distribution's programs are read as well.
func TestProgramsAgree(t *testing.T) {
	for program, args := range map[string][]string{
		"xz":   {"--check=crc32", "--x86", "--lzma2=preset=6"},
		"zstd": {"-19", "-q"},
		"lz4":  {"-l", "-q"},
		"gzip": {"-9"},
	} {
		if _, err := exec.LookPath(program); err != nil {
			t.Logf("%s is not installed", program)
			continue
		}
		cmd := exec.Command(program, append(args, "-c")...)
		cmd.Stdin = bytes.NewReader(text)
		p, err := cmd.Output()
		if err != nil {
			t.Errorf("%s: %v", program, err)
			continue
		}
		if got, err := unpack.All(p, 1<<20); err != nil || !bytes.Equal(got, text) {
			t.Errorf("%s: %d bytes, %v", program, len(got), err)
		}
	}
}

func FuzzAll(f *testing.F) {
	for _, p := range packed(f) {
		f.Add(p)
	}
	f.Fuzz(func(t *testing.T, p []byte) {
		const limit = 1 << 20
		got, err := unpack.All(p, limit)
		if err == nil && len(got) > limit {
			t.Fatalf("%d bytes are beyond the limit", len(got))
		}
		if err == nil && unpack.Probe(p) == unpack.Plain && !bytes.Equal(got, p) {
			t.Fatal("what is not packed was changed")
		}
	})
}
