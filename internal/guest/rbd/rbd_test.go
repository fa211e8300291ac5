package rbd

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"plimsoll/internal/platform"
)

// apply applies a difference to an empty image, and counts the bytes of data.
func apply(t *testing.T, diff []byte) (image []byte, data int) {
	t.Helper()
	in := bytes.NewReader(diff)
	head := make([]byte, 12)
	if _, err := io.ReadFull(in, head); err != nil || string(head) != "rbd diff v1\n" {
		t.Fatalf("the header is %q, %v", head, err)
	}
	number := func() (n int64) {
		if err := binary.Read(in, binary.LittleEndian, &n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	for {
		switch kind, err := in.ReadByte(); {
		case err != nil:
			t.Fatal("it has no end")
		case kind == 's':
			image = make([]byte, number())
		case kind == 'w':
			at, n := number(), number()
			if n > mostRecord {
				t.Errorf("a record of %d bytes", n)
			}
			if _, err := io.ReadFull(in, image[at:at+n]); err != nil {
				t.Fatal(err)
			}
			data += int(n)
		case kind == 'e':
			if in.Len() != 0 {
				t.Errorf("%d bytes follow the end", in.Len())
			}
			return image, data
		default:
			t.Fatalf("record %q", kind)
		}
	}
}

func sparse(t *testing.T, size int64, at ...int64) *os.File {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "disk"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	if err := f.Truncate(size); err != nil {
		t.Fatal(err)
	}
	for _, a := range at {
		if _, err := f.WriteAt([]byte("here"), a); err != nil {
			t.Fatal(err)
		}
	}
	return f
}

// The content of a file comes back from its difference, without its holes.
func TestDiff(t *testing.T) {
	const size = 64 << 20
	for _, at := range [][]int64{nil, {0}, {size - 4}, {0, 9 << 20, 30<<20 + 17, size - 4}} {
		f := sparse(t, size, at...)
		var diff bytes.Buffer
		if err := writeDiff(&diff, f, size); err != nil {
			t.Fatal(err)
		}
		image, data := apply(t, diff.Bytes())
		want, err := os.ReadFile(f.Name())
		if err != nil || !bytes.Equal(image, want) {
			t.Errorf("data at %v: the image differs, %v", at, err)
		}
		if data > len(at)<<20 {
			t.Errorf("data at %v: %d bytes of data", at, data)
		}
	}
	dense := sparse(t, 0)
	if _, err := dense.Write(bytes.Repeat([]byte("x"), 9<<20)); err != nil {
		t.Fatal(err)
	}
	var diff bytes.Buffer
	if err := writeDiff(&diff, dense, 9<<20); err != nil {
		t.Fatal(err)
	}
	if _, data := apply(t, diff.Bytes()); data != 9<<20 {
		t.Errorf("%d bytes of data of 9 MiB", data)
	}
}

// client is a machine whose rbd answers.
type client struct {
	platform.Machine
	ran     []string
	answers []platform.Result
}

func (c *client) Run(_ context.Context, k platform.Command) (platform.Result, error) {
	c.ran = append(c.ran, strings.Join(k.Argv, " "))
	if k.Stdin != nil {
		if _, err := io.Copy(io.Discard, k.Stdin); err != nil {
			return platform.Result{}, err
		}
	}
	r := c.answers[0]
	c.answers = c.answers[1:]
	return r, nil
}

func TestPool(t *testing.T) { synctest.Test(t, pool) }

func pool(t *testing.T) {
	c := &client{answers: []platform.Result{{}, {}, {Stdout: []byte(`["a","plimsoll-1-01","plimsoll-1-02","plimsoll-2-01"]`)}, {Exit: 16, Stderr: []byte("rbd: error: image still has watchers")}, {}, {}}}
	p := Pool{c, "/c.conf", "p"}
	if err := p.Make(t.Context(), "i", sparse(t, 1<<20, 5).Name()); err != nil {
		t.Fatal(err)
	}
	if err := p.Clear(t.Context(), "plimsoll-1-"); err != nil {
		t.Fatal(err)
	}
	rbd := "env -u CEPH_ARGS CEPH_CONF=/c.conf rbd --pool p "
	want := []string{
		rbd + "create --size 1048576B --image-feature layering i", rbd + "import-diff --no-progress - i",
		rbd + "ls --format json", rbd + "rm --no-progress plimsoll-1-01", rbd + "rm --no-progress plimsoll-1-01", rbd + "rm --no-progress plimsoll-1-02",
	}
	if !slices.Equal(c.ran, want) {
		t.Errorf("%q", c.ran)
	}
	c.answers = []platform.Result{{}, {Exit: 5, Stderr: []byte("rbd: import-diff failed")}}
	if err := p.Make(t.Context(), "i", sparse(t, 1<<20, 5).Name()); err == nil || !strings.Contains(err.Error(), "rbd import-diff --no-progress - i: status 5: rbd: import-diff failed") {
		t.Errorf("%v", err)
	}
	c.answers = []platform.Result{{Stdout: []byte("no pool")}}
	if _, err := p.List(t.Context(), ""); err == nil || !strings.Contains(err.Error(), "parse the list of images of pool p") {
		t.Errorf("%v", err)
	}
}

// hung is a machine whose rbd waits for a cluster that does not answer.
type hung struct{ platform.Machine }

func (hung) Run(ctx context.Context, _ platform.Command) (platform.Result, error) {
	<-ctx.Done()
	return platform.Result{}, ctx.Err()
}

func TestAClusterThatDoesNotAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, err := Pool{hung{}, "/c.conf", "p"}.List(t.Context(), "")
		if err == nil || err.Error() != "rbd ls --format json: no answer from the cluster for 2m0s" {
			t.Errorf("%v", err)
		}
	})
}
