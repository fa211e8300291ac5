package proxmox

import (
	"errors"
	"strings"
	"testing"

	"plimsoll/internal/live"
	"plimsoll/internal/proxmox"
)

func TestBadAddresses(t *testing.T) {
	t.Setenv("PVE_SECRET", "geheim")
	for text, want := range map[string]string{
		"proxmox:///": "names one of its nodes",
		"proxmox://root@pam@pve1/dc?password=env:PVE_SECRET":      "has no path",
		"proxmox://root@pve1/?password=env:PVE_SECRET":            "realm",
		"proxmox://root@pam@pve1/":                                "password or a token",
		"proxmox://root@pam@pve1/?insecure=1":                     "unknown parameter",
		"proxmox://root@pam@pve1/?poll=0&password=env:PVE_SECRET": "poll",
		"proxmox://root@pam@pve1/?password=geheim":                "must be a reference",
	} {
		at, err := live.ParseAddress(text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		_, err = Kind().Open(t.Context(), at)
		if mistake := new(live.Mistake); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "geheim") || !errors.As(err, &mistake) {
			t.Errorf("%s: %v, want the mistake %q", text, err, want)
		}
	}
}

func TestShapes(t *testing.T) {
	for text, want := range map[string]shape{
		"cores=4;cpuunits=2048;cpulimit=1.5;scsi0=ceph:vm-1,size=8G;ide2=none,media=cdrom;net0=virtio=AA,bridge=vmbr1;scsihw=virtio-scsi-pci": {cores: 4, units: 2048, limit: 1500, disks: "ceph", bridge: "vmbr1"},
		"hostpci0=0000:01:00.0,pcie=1":               {cores: 1, tied: "the device hostpci0"},
		"hostpci0=mapping=gpu":                       {cores: 1},
		"usb0=spice":                                 {cores: 1},
		"usb0=host=1-1":                              {cores: 1, tied: "the device usb0"},
		"virtio0=/dev/sdb":                           {cores: 1, tied: "the disk /dev/sdb"},
		"sata0=file=nfs:100/x.qcow2;efidisk0=ceph:e": {cores: 1, disks: "ceph nfs"},
		"cores=-3;cpulimit=x;name=scsi":              {cores: 1},
	} {
		v := proxmox.Config{}
		for part := range strings.SplitSeq(text, ";") {
			name, value, _ := strings.Cut(part, "=")
			v[name] = proxmox.Word(value)
		}
		if got := shapeOf(v); got != want {
			t.Errorf("%s: %+v, want %+v", text, got, want)
		}
	}
}

func TestHardware(t *testing.T) {
	for _, tc := range []struct{ cpus, cores, sockets, perSocket, threads int }{
		{32, 16, 2, 8, 2}, {16, 16, 1, 16, 1}, {64, 8, 4, 8, 2}, {0, 0, 0, 1, 1}, {6, 3, 2, 3, 2},
	} {
		var n proxmox.Node
		n.CPU.CPUs, n.CPU.Cores, n.CPU.Sockets = proxmox.Number(tc.cpus), proxmox.Number(tc.cores), proxmox.Number(tc.sockets)
		h := hostOf(n)
		if h.CoresPerNode != tc.perSocket || h.ThreadsPerCore != tc.threads || tc.cpus > 0 && h.Cores()*h.ThreadsPerCore != tc.cpus || h.MHz != usualMHz {
			t.Errorf("%+v: %+v", tc, h)
		}
	}
}

func TestMarks(t *testing.T) {
	for _, notes := range []string{"", "rack 7", "# title\n\ntext", "a\n" + mark + "\nb"} {
		set := withMark(notes, true)
		if !marked(set) || strings.Count(set, mark) != 1 {
			t.Errorf("%q becomes %q", notes, set)
		}
		gone := withMark(set, false)
		if marked(gone) || gone != strings.TrimPrefix(strings.ReplaceAll(notes, mark+"\n", ""), "\n") {
			t.Errorf("%q comes back as %q", notes, gone)
		}
	}
	if marked("the plimsoll: maintenance line") {
		t.Error("prose is a mark")
	}
}

func TestPrivileges(t *testing.T) {
	p := privileges{held: map[string]map[string]proxmox.Number{"/vms/100": {"VM.Migrate": 1}, "/pool/a": {"VM.Migrate": 1}, "/nodes": {"Sys.Modify": 1}}}
	p.guest(&guest{id: 100}, "VM.Migrate")
	p.guest(&guest{id: 101, Resource: proxmox.Resource{Pool: "a"}}, "VM.Migrate")
	p.guest(&guest{id: 102, Resource: proxmox.Resource{Pool: "b"}}, "VM.Migrate")
	p.need("/nodes/pve1", "Sys.Modify")
	p.need("/", "Sys.Audit")
	if got := strings.Join(p.missing, "; "); got != "VM.Migrate on /vms/102; Sys.Audit on /" {
		t.Errorf("missing %s", got)
	}
}

func FuzzShapes(f *testing.F) {
	f.Add("scsi0", "ceph:vm-100-disk-0,size=8G", "notes\n"+mark)
	f.Fuzz(func(t *testing.T, name, value, notes string) {
		if s := shapeOf(proxmox.Config{name: proxmox.Word(value)}); s.cores < 1 || s.units < 0 || s.limit < 0 {
			t.Errorf("%+v", s)
		}
		if !marked(withMark(notes, true)) || marked(withMark(notes, false)) {
			t.Errorf("%q", notes)
		}
	})
}
