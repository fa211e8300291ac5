package disk

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/binary"
	"encoding/xml"
	"fmt"
	"text/template"
	"time"
)

// Machine is the virtual hardware of an appliance.
type Machine struct {
	Name   string
	CPUs   int
	Memory int64 // bytes
}

// envelope describes the machine to the hypervisor (DMTF DSP0243, version 1.1); the
// firmware is a setting that vSphere knows.
//
//go:embed ova.xml
var envelope string

// OVA packs a disk and the description of its machine as one file, which vSphere,
// VirtualBox and others import.
func OVA(raw []byte, m Machine) ([]byte, error) {
	sum := sha256.Sum256(raw)
	identity := binary.LittleEndian.Uint32(sum[:]) &^ 1 // not ffffffff, which is none
	name := m.Name + "-disk1.vmdk"
	packed, err := vmdk(raw, name, identity)
	if err != nil {
		return nil, fmt.Errorf("create an appliance: %w", err)
	}
	page, err := template.New("ovf").Funcs(template.FuncMap{"text": escaped}).Parse(envelope)
	if err != nil {
		return nil, fmt.Errorf("create an appliance: %w", err)
	}
	var ovf bytes.Buffer
	if err := page.Execute(&ovf, map[string]any{
		"Name": m.Name, "CPUs": m.CPUs, "MiB": m.Memory / mebibyte, "Disk": name, "Size": len(packed), "Capacity": len(raw),
	}); err != nil {
		return nil, fmt.Errorf("create an appliance: %w", err)
	}
	manifest := fmt.Sprintf("SHA256(%s.ovf)= %x\nSHA256(%s)= %x\n", m.Name, sha256.Sum256(ovf.Bytes()), name, sha256.Sum256(packed))
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, f := range []struct {
		name    string
		content []byte
	}{{m.Name + ".ovf", ovf.Bytes()}, {m.Name + ".mf", []byte(manifest)}, {name, packed}} {
		head := &tar.Header{Name: f.name, Mode: 0o644, Size: int64(len(f.content)), Format: tar.FormatUSTAR, ModTime: time.Unix(0, 0)}
		if err := w.WriteHeader(head); err != nil {
			return nil, fmt.Errorf("create an appliance: %w", err)
		}
		if _, err := w.Write(f.content); err != nil {
			return nil, fmt.Errorf("create an appliance: %w", err)
		}
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("create an appliance: %w", err)
	}
	return out.Bytes(), nil
}

// escaped is a text as XML has it.
func escaped(text string) (string, error) {
	var b bytes.Buffer
	err := xml.EscapeText(&b, []byte(text))
	return b.String(), err
}
