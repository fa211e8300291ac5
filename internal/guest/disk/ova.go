package disk

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"text/template"
	"time"
)

// Machine is the virtual hardware of an appliance.
type Machine struct {
	Name   string
	CPUs   int
	Memory int64    // bytes
	Disks  []Source // the first is the boot disk; each has a controller of its own
}

// Appliance is a machine in the Open Virtualization Format, with its disks as files.
type Appliance struct {
	OVF   []byte // its description
	Disks []File
	name  string
}

// File is a file of an appliance.
type File struct {
	Name string // in the description
	Path string
	Size int64
	sum  [sha256.Size]byte
}

// envelope is the OVF descriptor of the machine (DMTF DSP0243, version 1.1), with vSphere's
// setting for the firmware.
//
//go:embed ova.xml
var envelope string

// mostDisks is the number of SCSI controllers that vSphere allows.
const mostDisks = 4

// Pack writes the disks of a machine as files of a folder, and the description.
func Pack(folder string, m Machine) (*Appliance, error) {
	if len(m.Disks) == 0 || len(m.Disks) > mostDisks {
		return nil, fmt.Errorf("create an appliance: %d disks: must be 1 to %d", len(m.Disks), mostDisks)
	}
	a := &Appliance{name: m.Name}
	type row struct {
		Number, Controller, Instance int
		File                         File
		Capacity                     int64
	}
	var rows []row
	for i, disk := range m.Disks {
		name := fmt.Sprintf("%s-disk%d.vmdk", m.Name, i+1)
		f, err := writeDisk(filepath.Join(folder, name), disk, name)
		if err != nil {
			return nil, fmt.Errorf("create an appliance: disk %d: %w", i+1, err)
		}
		a.Disks = append(a.Disks, f)
		rows = append(rows, row{i + 1, 10 + i, 20 + i, f, disk.Size})
	}
	page, err := template.New("ovf").Funcs(template.FuncMap{"text": escaped}).Parse(envelope)
	if err != nil {
		return nil, fmt.Errorf("create an appliance: %w", err)
	}
	var ovf bytes.Buffer
	if err := page.Execute(&ovf, map[string]any{"Name": m.Name, "CPUs": m.CPUs, "MiB": m.Memory / mebibyte, "Disks": rows}); err != nil {
		return nil, fmt.Errorf("create an appliance: %w", err)
	}
	a.OVF = ovf.Bytes()
	return a, nil
}

// writeDisk writes a disk as a file.
func writeDisk(path string, disk Source, name string) (f File, err error) {
	out, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return f, err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	f = File{Name: name, Path: path}
	h := sha256.New()
	f.Size, err = vmdk(io.MultiWriter(out, h), disk, name)
	h.Sum(f.sum[:0])
	return f, err
}

// Write writes an appliance as one OVA file, which vSphere, VirtualBox and others import.
func (a *Appliance) Write(to io.Writer) error {
	manifest := fmt.Sprintf("SHA256(%s.ovf)= %x\n", a.name, sha256.Sum256(a.OVF))
	for _, f := range a.Disks {
		manifest += fmt.Sprintf("SHA256(%s)= %x\n", f.Name, f.sum)
	}
	w := tar.NewWriter(to)
	err := errors.Join(entry(w, a.name+".ovf", int64(len(a.OVF)), bytes.NewReader(a.OVF)),
		entry(w, a.name+".mf", int64(len(manifest)), bytes.NewReader([]byte(manifest))))
	for _, f := range a.Disks {
		if err != nil {
			break
		}
		err = entryOf(w, f)
	}
	if err = errors.Join(err, w.Close()); err != nil {
		return fmt.Errorf("write an appliance: %w", err)
	}
	return nil
}

func entryOf(w *tar.Writer, f File) error {
	in, err := os.Open(f.Path)
	if err != nil {
		return err
	}
	defer in.Close() //nolint:errcheck // only read
	return entry(w, f.Name, f.Size, in)
}

func entry(w *tar.Writer, name string, size int64, from io.Reader) error {
	head := &tar.Header{Name: name, Mode: 0o644, Size: size, Format: tar.FormatUSTAR, ModTime: time.Unix(0, 0)}
	if err := w.WriteHeader(head); err != nil {
		return err
	}
	_, err := io.Copy(w, from)
	return err
}

// escaped is a text escaped for XML.
func escaped(text string) (string, error) {
	var b bytes.Buffer
	err := xml.EscapeText(&b, []byte(text))
	return b.String(), err
}
