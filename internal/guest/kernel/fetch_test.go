package kernel

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// fakeApt puts an apt before the real one, which offers the packages of Ubuntu: a
// name that leads to an image, which leads to its modules.
func fakeApt(t *testing.T, image []byte) (log string) {
	t.Helper()
	if _, err := exec.LookPath("dpkg-deb"); err != nil {
		t.Skip("dpkg-deb makes the packages of this test, and is missing")
	}
	dir := t.TempDir()
	log = filepath.Join(dir, "log")
	deb := func(name, depends string, files map[string]string) {
		root := filepath.Join(dir, name)
		write := func(file, text string) {
			if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		control := fmt.Sprintf("Package: %s\nVersion: 1:6.1~2\nArchitecture: all\nMaintainer: nobody\nDescription: a test\n", name)
		if depends != "" {
			control += "Depends: " + depends + "\n"
		}
		write(filepath.Join(root, "DEBIAN/control"), control)
		write(filepath.Join(dir, name+".show"), control+"\n")
		for file, text := range files {
			write(filepath.Join(root, file), text)
		}
		if out, err := exec.Command("dpkg-deb", "-b", root, filepath.Join(dir, name+".deb")).CombinedOutput(); err != nil {
			t.Fatal(err, string(out))
		}
	}
	modules := "usr/lib/modules/" + release
	deb("linux-image-virtual", "linux-image-9, linux-firmware", nil)
	deb("linux-image-9", "kmod, linux-modules-9 (= 1) | other", map[string]string{"boot/vmlinuz-" + release: string(image)})
	deb("linux-image-other", "", map[string]string{"boot/vmlinuz-" + release: string(image), modules + "/kernel/a.ko": "x"})
	deb("linux-modules-9", "", map[string]string{modules + "/kernel/a-b.ko": "x", modules + "/modules.builtin": "kernel/fs/ext4/ext4.ko\nkernel/net/some-thing.ko\n"})
	for program, script := range map[string]string{
		"apt-cache": `for n; do :; done; [ -e "$D/$n.show" ] && cat "$D/$n.show" || { echo "E: No packages found" >&2; exit 100; }`,
		"apt-get":   `shift 2; for n; do echo "$n" >>"$D/log"; cp "$D/$n.deb" "./${n}_1.deb" || exit 1; done`,
	} {
		text := "#!/bin/sh\nD=" + dir + "\n" + script + "\n"
		if err := os.WriteFile(filepath.Join(dir, program), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	return log
}

func TestFetch(t *testing.T) {
	log := fakeApt(t, zstdImage(t, plainKernel(true)))
	ctx := context.Background()
	dir := filepath.Join(t.TempDir(), "kernels")
	if _, err := Find(dir); !errors.Is(err, ErrNone) {
		t.Errorf("an empty folder: %v", err)
	}
	k, err := Fetch(ctx, dir)
	if err != nil {
		t.Fatal(err)
	}
	if !k.PVH || k.Version != release || filepath.Base(k.Image) != "vmlinux" || filepath.Base(k.Packed) != "vmlinuz" ||
		k.Package != "linux-image-9" || k.PackageVersion != "1:6.1~2" || len(k.Digest) != 64 {
		t.Errorf("%+v", k)
	}
	builtin, err := k.Builtin()
	if err != nil || !builtin["ext4"] || !builtin["some_thing"] || len(builtin) != 2 {
		t.Errorf("built in: %v, %v", builtin, err)
	}
	fetched, _ := os.ReadFile(log)
	if string(fetched) != "linux-image-virtual\nlinux-image-9\nlinux-modules-9\n" {
		t.Errorf("downloaded %q", fetched)
	}
	again, err := Fetch(ctx, dir)
	if err != nil || *again != *k {
		t.Errorf("again: %+v, %v", again, err)
	}
	if after, _ := os.ReadFile(log); len(after) != len(fetched) {
		t.Error("what was there was downloaded again")
	}
	found, err := Find(dir)
	if err != nil || *found != *k {
		t.Errorf("found %+v, %v", found, err)
	}
	other, err := FetchPackage(ctx, dir, "linux-image-other")
	if err != nil {
		t.Fatal(err)
	}
	old := time.Now().Add(-time.Hour)
	for _, k := range []*Kernel{k, other} {
		if err := os.Chtimes(filepath.Join(filepath.Dir(k.Image), described), old, old); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"linux-image-other", "linux-image-virtual"} {
		asked, err := FetchPackage(ctx, dir, name)
		if err != nil {
			t.Fatal(err)
		}
		if last, err := Find(dir); err != nil || *last != *asked {
			t.Errorf("after %s: %+v, %v", name, last, err)
		}
	}
	if left, _ := os.ReadDir(dir); len(left) != 2 {
		t.Errorf("left behind: %v", left)
	}
	if err := os.WriteFile(k.Image, []byte("damaged"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Find(dir); err == nil || !strings.Contains(err.Error(), "has changed since it was fetched") {
		t.Errorf("damaged: %v", err)
	}
	if mended, err := Fetch(ctx, dir); err != nil || *mended != *k {
		t.Errorf("mended: %+v, %v", mended, err)
	}
}

func TestFetchKeepsThePackedKernel(t *testing.T) {
	fakeApt(t, zstdImage(t, plainKernel(false)))
	k, err := Fetch(context.Background(), t.TempDir())
	if err != nil || k.PVH || k.Image != k.Packed || k.Version != release {
		t.Errorf("%+v, %v", k, err)
	}
}

func TestFetchFailsClearly(t *testing.T) {
	fakeApt(t, []byte("no kernel"))
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(context.Background())
	if _, err := Fetch(ctx, dir); !errors.Is(err, errNoKernel) {
		t.Errorf("no kernel: %v", err)
	}
	if _, err := FetchPackage(ctx, dir, "linux-image-none"); err == nil || !strings.Contains(err.Error(), "No packages found") {
		t.Errorf("unknown: %v", err)
	}
	if _, err := FetchPackage(ctx, dir, "--help"); err == nil {
		t.Error("a flag is taken for a package")
	}
	cancel()
	if _, err := Fetch(ctx, dir); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if left, _ := os.ReadDir(dir); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
	t.Setenv("PATH", t.TempDir())
	if _, err := Fetch(context.Background(), dir); err == nil || !strings.Contains(err.Error(), "--kernel") {
		t.Errorf("without apt: %v", err)
	}
}

func TestAbandonedFetchesAreRemoved(t *testing.T) {
	dir := t.TempDir()
	room := filepath.Join(dir, unfinished+"1")
	if err := os.Mkdir(room, 0o755); err != nil {
		t.Fatal(err)
	}
	removeAbandoned(dir, time.Now())
	if _, err := os.Stat(room); err != nil {
		t.Error("a fetch that may be under way was removed")
	}
	removeAbandoned(dir, time.Now().Add(2*time.Hour))
	if _, err := os.Stat(room); !errors.Is(err, os.ErrNotExist) {
		t.Error("what a killed fetch left stays")
	}
}

func TestOpen(t *testing.T) {
	dir := t.TempDir()
	file := func(name string, text []byte) string {
		name = filepath.Join(dir, name)
		if err := os.WriteFile(name, text, 0o644); err != nil {
			t.Fatal(err)
		}
		return name
	}
	k, err := Open(file("vmlinux", plainKernel(true)), "")
	if err != nil || !k.PVH || k.Version != release || k.Packed != "" {
		t.Errorf("%+v, %v", k, err)
	}
	k, err = Open(file("vmlinuz", gzipImage(plainKernel(true))), "")
	if err != nil || k.PVH || k.Version != release || k.Packed != k.Image {
		t.Errorf("%+v, %v", k, err)
	}
	for name, want := range map[string]string{"without": "PVH note", "text": "neither", "absent": "no such file"} {
		switch name {
		case "without":
			file(name, plainKernel(false))
		case "text":
			file(name, []byte("hello"))
		}
		if _, err := Open(filepath.Join(dir, name), ""); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := Open(k.Image, dir); err == nil || !strings.Contains(err.Error(), "lib/modules/"+release) {
		t.Errorf("no modules: %v", err)
	}
}
