package initramfs

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"plimsoll/internal/guest/kernel"
)

const release = "6.8.0-1-generic"

// fakeProgram is an ELF file that passes for a static program.
func fakeProgram() []byte {
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
	le.PutUint32(e[64:], 1)
	return e
}

// fakeModule is a relocatable ELF file with nothing but .modinfo.
func fakeModule(lines ...string) []byte {
	info := strings.Join(lines, "\x00") + "\x00"
	names := "\x00.modinfo\x00.shstrtab\x00"
	e := make([]byte, 64)
	copy(e, "\x7fELF\x02\x01\x01")
	le := binary.LittleEndian
	le.PutUint16(e[16:], 1)
	le.PutUint16(e[18:], 62)
	le.PutUint32(e[20:], 1)
	le.PutUint64(e[40:], uint64(64+len(info)+len(names)))
	le.PutUint16(e[52:], 64)
	le.PutUint16(e[58:], 64)
	le.PutUint16(e[60:], 3)
	le.PutUint16(e[62:], 2)
	e = append(append(e, info...), names...)
	section := func(name, kind uint32, at, size int) {
		s := make([]byte, 64)
		le.PutUint32(s, name)
		le.PutUint32(s[4:], kind)
		le.PutUint64(s[24:], uint64(at))
		le.PutUint64(s[32:], uint64(size))
		le.PutUint64(s[48:], 1)
		e = append(e, s...)
	}
	section(0, 0, 0, 0)
	section(1, 1, 64, len(info))
	section(10, 3, 64+len(info), len(names))
	return e
}

// fakeKernel is a kernel with modules on disk: some plain, some packed.
func fakeKernel(t testing.TB) *kernel.Kernel {
	t.Helper()
	dir := t.TempDir()
	write := func(name string, text []byte) {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	z, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	magic := "vermagic=" + release + " SMP preempt mod_unload"
	for name, lines := range map[string][]string{
		"drivers/virtio/virtio.ko":                {"depends=virtio_ring"},
		"drivers/virtio/virtio_ring.ko":           {"depends="},
		"drivers/virtio/virtio_pci.ko.zst":        {"depends=virtio,virtio-pci-modern-dev"},
		"drivers/virtio/virtio_console.ko":        {"depends=virtio"},
		"drivers/virtio/virtio-pci-modern-dev.ko": {"depends=virtio_ring"},
		"fs/xfs/xfs.ko":                           {"depends=libcrc32c", "softdep=pre: crc32c post: unwanted"},
		"lib/libcrc32c.ko":                        {"softdep=pre: sha none-such", "depends="},
		"crypto/sha_generic.ko":                   {"depends="},
		"rdma/rdma_rxe.ko":                        {"depends=libcrc32c"},
		"crypto/crc32_generic.ko":                 {"depends="},
		"fs/btrfs/btrfs.ko":                       {"depends=", "softdep=pre: crypto-sha pre: crypto-none"},
		"net/a.ko":                                {"depends=b"},
		"net/b.ko":                                {"depends=a"},
		"net/broken.ko":                           {"depends=absent"},
		"net/unwanted.ko":                         {"depends="},
	} {
		m := fakeModule(append(lines, magic)...)
		if strings.HasSuffix(name, ".zst") {
			m = z.EncodeAll(m, nil)
		}
		write("kernel/"+name, m)
	}
	write("kernel/net/older.ko", fakeModule("vermagic=6.1.0 SMP"))
	write("kernel/net/text.ko", []byte("no module"))
	write("modules.builtin", []byte("kernel/fs/ext4/ext4.ko\nkernel/crypto/crc32c_generic.ko\n"))
	return &kernel.Kernel{Version: release, Modules: dir, Package: "linux-image-" + release}
}
