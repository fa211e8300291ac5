package service_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"strings"
	"testing"

	"plimsoll/internal/service/webfiles"
)

func TestPagesAreWhatTheManifestSays(t *testing.T) {
	for _, p := range []webfiles.Pages{
		{Count: 1, Size: 100 << 10, Images: 5, Seed: 1}, {Count: 3, Size: 1000, Images: 2, Seed: 1}, {Count: 2, Size: 128, Seed: 1},
		{Count: 1, Size: 128, Images: 100, Seed: 1}, {Count: 1, Size: 101, Images: 3, Seed: 1},
	} {
		files := map[string][]byte{}
		for name, data := range p.Files() {
			files[name] = data
		}
		lines := strings.Split(strings.TrimSuffix(string(files[webfiles.Manifest]), "\n"), "\n")
		if len(lines) != p.Count || len(files) != 1+p.Count*(1+p.Images) {
			t.Errorf("%+v: %d lines, %d files", p, len(lines), len(files))
		}
		for _, line := range lines {
			total := int64(0)
			for entry := range strings.FieldsSeq(line) {
				name, size, _ := strings.Cut(entry, ":")
				data, ok := files[name]
				if !ok || fmt.Sprint(len(data)) != size {
					t.Errorf("%+v: %s has %d bytes", p, entry, len(data))
				}
				total += int64(len(data))
			}
			if total != p.Size {
				t.Errorf("%+v: a page has %d bytes", p, total)
			}
		}
	}
}

func TestPagesFollowTheSeed(t *testing.T) {
	all := func(seed uint64) []byte {
		var b bytes.Buffer
		for _, data := range (webfiles.Pages{Count: 2, Size: 10000, Images: 2, Seed: seed}).Files() {
			b.Write(data)
		}
		return b.Bytes()
	}
	if !bytes.Equal(all(1), all(1)) || bytes.Equal(all(1), all(2)) {
		t.Error("the same seed gives other bytes, or another seed the same")
	}
	for name, data := range (webfiles.Pages{Count: 1, Size: 100 << 10, Images: 1}).Files() {
		switch name {
		case "/0/1.jpg":
			var b bytes.Buffer
			w := gzip.NewWriter(&b)
			if _, err := w.Write(data); err != nil {
				t.Fatal(err)
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			if b.Len() < len(data)*99/100 {
				t.Error("images can be compressed")
			}
		case "/0/page.html":
			if !bytes.Contains(data, []byte(`<img src="/0/1.jpg">`)) || bytes.ContainsRune(data, 0) {
				t.Error("the page is not one")
			}
		}
	}
}
