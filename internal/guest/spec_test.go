package guest_test

import (
	"strings"
	"testing"

	"plimsoll/internal/guest/hardware"
	"plimsoll/internal/guest/spec"
)

func TestRoutes(t *testing.T) {
	for text, want := range map[string]string{
		"": "none", "none": "none", "nbd": "nbd", "null": "null", " daemon:null  stats ": "daemon:null stats", "delay:1ms": "delay:1ms",
		"nbdkit": "nbdkit", "nbdkit:nofilter": "nbdkit:nofilter", "nbdkit:delay:1ms nbdkit:stats": "nbdkit:delay:1ms nbdkit:stats",
	} {
		r, err := spec.ParseRoute(text)
		if err != nil || r.String() != want {
			t.Errorf("%q: %q, %v; want %q", text, r, err, want)
		}
		if r.Server == spec.NBDKit {
			if back := spec.KitRoute(append([]string{"nbdkit"}, r.KitArguments("/s", "/f")...)); back.String() != want {
				t.Errorf("%q is read back as %q", text, back)
			}
		}
	}
	for text, want := range map[string]string{
		"sieve": "must be null", "null none": "must be null", "nbdkit:eval": "not one of nbdkit:nofilter", "nbdkit:delay": "delay has a time", "nbdkit:stats:x": "no other filter has one",
		"nbdkit:nofilter null": "not one of nbdkit:nofilter", "nbdkit:delay:soon": "a delay is a time", "delay:2h": "up to a minute",
	} {
		if r, err := spec.ParseRoute(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %q, %v; want %q", text, r, err, want)
		}
	}
}

func FuzzParseRoute(f *testing.F) {
	for _, text := range []string{"none", "nbd", "null stats", "nbdkit:delay:1ms nbdkit:nofilter", "daemon:delay:2ms"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r, err := spec.ParseRoute(text)
		if err != nil {
			return
		}
		if again, err := spec.ParseRoute(r.String()); err != nil || again.String() != r.String() {
			t.Errorf("%q is %q, which is %q, %v", text, r, again, err)
		}
	})
}

func TestPins(t *testing.T) {
	for _, c := range []struct {
		pin, want string
		vcpus     int
	}{{"none", "none", 2}, {"", "none", 2}, {"0-1", "0-1", 2}, {"0,1", "0-1", 2}, {"0/1", "0/1", 2}, {"1/1", "1", 2}, {"0 / 1,0", "0/0-1", 2}} {
		lists, err := spec.Guest{Pin: c.pin, VCPUs: c.vcpus}.Pins()
		if err != nil || spec.PinText(lists) != c.want || len(lists) != 0 && len(lists) != c.vcpus {
			t.Errorf("%q: %v, %v; want %s", c.pin, lists, err, c.want)
		}
	}
	for pin, want := range map[string]string{"0/1/2": "CPUs for 3 vCPUs, but the guest has 2", "x": "is not a CPU list", "0/": "no CPU"} {
		if lists, err := (spec.Guest{Pin: pin, VCPUs: 2}).Pins(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, %v; want %q", pin, lists, err, want)
		}
	}
}

// What lies between the disk and its file decides what QEMU is given.
func TestTheDiskOfARoute(t *testing.T) {
	s := spec.Guest{DiskSize: 1 << 30, Controller: "virtio-blk", AIO: "threads"}
	if d := s.Disk("/f"); d.Backing != hardware.BackingFile || d.Path != "/f/"+spec.DataImage || d.AIO != "threads" {
		t.Errorf("%+v", d)
	}
	image := hardware.Image{Conf: "/c", Pool: "p", Name: "i"}
	if d := s.ImageDisk(image); d.Backing != hardware.BackingImage || d.Path != "" || d.AIO != "" || d.Image != image || d.Size != 1<<30 {
		t.Errorf("%+v", d)
	}
	s.IOFilter = "null"
	if d := s.Disk("/f"); d.Backing != hardware.BackingNBD || d.Path != "" || d.AIO != "" || d.Socket != "/f/"+spec.DiskSocket {
		t.Errorf("%+v", d)
	}
}
