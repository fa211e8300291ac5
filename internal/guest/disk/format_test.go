package disk

import (
	"archive/tar"
	"bytes"
	"compress/zlib"
	"crypto/sha256"
	"encoding/binary"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// uneven is a disk with holes, whose end fills no cluster and no grain.
func uneven() []byte {
	raw := make([]byte, 70*mebibyte+5*sector)
	for _, at := range []int{0, 65_536 * 3, 33 * mebibyte, len(raw) - 700} {
		copy(raw[at:], "something is here")
	}
	return raw
}

// readQCOW2 reads a disk through its tables.
func readQCOW2(q []byte) []byte {
	be := binary.BigEndian
	out := make([]byte, be.Uint64(q[24:]))
	for i := range be.Uint32(q[36:]) {
		l2 := be.Uint64(q[be.Uint64(q[40:])+8*uint64(i):]) &^ copied
		for j := range uint64(cluster / 8) {
			if at := be.Uint64(q[l2+8*j:]) &^ copied; at != 0 {
				copy(out[(uint64(i)*cluster/8+j)*cluster:], q[at:][:cluster])
			}
		}
	}
	return out
}

// readVMDK reads a disk through the directory that its footer names.
func readVMDK(v []byte) ([]byte, error) {
	le := binary.LittleEndian
	footer := v[len(v)-2*sector:]
	out := make([]byte, le.Uint64(footer[12:])*sector)
	directory := le.Uint64(footer[56:]) * sector
	for i := 0; i < len(out); i += perTable * grain {
		table := uint64(le.Uint32(v[directory:])) * sector
		directory += 4
		for j := 0; table != 0 && j < perTable; j++ {
			at := uint64(le.Uint32(v[table+4*uint64(j):])) * sector
			if at == 0 {
				continue
			}
			if got := le.Uint64(v[at:]); got != uint64(i/sector+j*grainSectors) {
				return nil, fmt.Errorf("a grain of sector %d in the place of %d", got, i/sector+j*grainSectors)
			}
			z, err := zlib.NewReader(bytes.NewReader(v[at+12:][:le.Uint32(v[at+8:])]))
			if err != nil {
				return nil, err
			}
			part, err := io.ReadAll(z)
			if err != nil {
				return nil, err
			}
			copy(out[i+j*grain:], part)
		}
	}
	return out, nil
}

func source(disk []byte) Source { return Source{bytes.NewReader(disk), int64(len(disk))} }

func packed(t *testing.T, disk []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	size, err := vmdk(&b, source(disk), "disk.vmdk")
	if err != nil || size != int64(b.Len()) || size%sector != 0 {
		t.Fatalf("%d of %d bytes, %v", size, b.Len(), err)
	}
	return b.Bytes()
}

func TestDisksAreTheSameInEachFormat(t *testing.T) {
	for name, disk := range map[string][]byte{"uneven": uneven(), "empty": make([]byte, mebibyte), "bootable": raw(t, spec())} {
		q := QCOW2(disk)
		if !bytes.Equal(readQCOW2(q), disk) {
			t.Errorf("%s: as qcow2 it is another", name)
		}
		if name == "uneven" && len(q) > 20*cluster {
			t.Errorf("holes take space: %d bytes", len(q))
		}
		v := packed(t, disk)
		if got, err := readVMDK(v); err != nil || !bytes.Equal(got, disk) {
			t.Errorf("%s: as VMDK it is another: %v", name, err)
		}
	}
}

// QEMU reads the same disk from both, and finds nothing wrong.
func TestQEMUReadsThem(t *testing.T) {
	if _, err := exec.LookPath("qemu-img"); err != nil {
		t.Skip("qemu-img is not installed")
	}
	dir := t.TempDir()
	for name, disk := range map[string][]byte{"uneven": uneven(), "bootable": raw(t, spec())} {
		v := packed(t, disk)
		plain := filepath.Join(dir, name)
		for file, text := range map[string][]byte{plain: disk, plain + ".qcow2": QCOW2(disk), plain + ".vmdk": v} {
			if err := os.WriteFile(file, text, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		for _, args := range []string{
			"check -q -f qcow2 " + plain + ".qcow2",
			"compare -q -f raw -F qcow2 " + plain + " " + plain + ".qcow2",
			"compare -q -f raw -F vmdk " + plain + " " + plain + ".vmdk",
		} {
			if out, err := exec.Command("qemu-img", strings.Fields(args)...).CombinedOutput(); err != nil {
				t.Errorf("qemu-img %s: %v: %s", args, err, out)
			}
		}
	}
}

func TestAppliance(t *testing.T) {
	disk, second := raw(t, spec()), uneven()
	pack := func() []byte {
		a, err := Pack(t.TempDir(), Machine{Name: "a&b", CPUs: 2, Memory: 512 * mebibyte, Disks: []Source{source(disk), source(second)}})
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		if err := a.Write(&b); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	made := pack()
	if !bytes.Equal(made, pack()) {
		t.Error("two appliances of the same differ")
	}
	files := map[string][]byte{}
	var order []string
	for r := tar.NewReader(bytes.NewReader(made)); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		order = append(order, h.Name)
		if files[h.Name], err = io.ReadAll(r); err != nil {
			t.Fatal(err)
		}
	}
	if got := strings.Join(order, " "); got != "a&b.ovf a&b.mf a&b-disk1.vmdk a&b-disk2.vmdk" {
		t.Errorf("it holds %s", got)
	}
	for _, name := range []string{"a&b.ovf", "a&b-disk1.vmdk", "a&b-disk2.vmdk"} {
		if want := fmt.Sprintf("SHA256(%s)= %x\n", name, sha256.Sum256(files[name])); !strings.Contains(string(files["a&b.mf"]), want) {
			t.Errorf("the manifest lacks %q", want)
		}
	}
	var about struct {
		Files []struct {
			Href string `xml:"href,attr"`
			Size int    `xml:"size,attr"`
		} `xml:"References>File"`
		Capacity []struct {
			Bytes int `xml:"capacity,attr"`
		} `xml:"DiskSection>Disk"`
		Items []struct {
			Kind     int `xml:"ResourceType"`
			Quantity int `xml:"VirtualQuantity"`
		} `xml:"VirtualSystem>VirtualHardwareSection>Item"`
	}
	if err := xml.Unmarshal(files["a&b.ovf"], &about); err != nil {
		t.Fatal(err)
	}
	if len(about.Files) != 2 || len(about.Capacity) != 2 || about.Files[1].Href != "a&b-disk2.vmdk" || about.Files[1].Size != len(files["a&b-disk2.vmdk"]) ||
		about.Capacity[0].Bytes != len(disk) || about.Capacity[1].Bytes != len(second) || len(about.Items) != 9 || about.Items[0].Quantity != 2 || about.Items[1].Quantity != 512 {
		t.Errorf("%+v", about)
	}
	for name, want := range map[string][]byte{"a&b-disk1.vmdk": disk, "a&b-disk2.vmdk": second} {
		if got, err := readVMDK(files[name]); err != nil || !bytes.Equal(got, want) {
			t.Errorf("disk %s is another: %v", name, err)
		}
	}
}
