package classifier

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"testing"

	"plimsoll/internal/effort"
	"plimsoll/internal/images"
	"plimsoll/internal/images/cifar"
	"plimsoll/internal/parameter"
	"plimsoll/internal/service/servicetest"
)

// fetched is the Python and the model cnn that plimsoll service classifier fetch has stored.
func fetched(t *testing.T) (python, cnn string) {
	t.Helper()
	if os.Getenv("PLIMSOLL_REAL") == "" {
		t.Skip("set PLIMSOLL_REAL=1 to start the real ONNX Runtime")
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	folder := Folder(cache)
	if !complete(folder) {
		t.Skip("ONNX Runtime or the model cnn is missing: plimsoll service classifier fetch")
	}
	return interpreter(folder), folder + "/" + cnnFile
}

func TestRealContract(t *testing.T) {
	fetched(t)
	servicetest.Run(t, Kind(), servicetest.Options{
		Machine:    here(t),
		Unobserved: []string{"address", "python"},
		Settings:   []parameter.Settings{nil, {"model": "small", "threads": "2", "batch": "4"}},
	})
}

// ONNX Runtime gives the answers that are known of each model, in every batch and with every
// number of threads.
func TestRealAnswers(t *testing.T) {
	python, cnn := fetched(t)
	set := sample(t, 300)
	for _, o := range []order{
		{Model: smallModel, Threads: 1, Batch: 1},
		{Model: smallModel, Threads: 2, Batch: 16},
		{Model: cnnModel, File: cnn, Threads: 1, Batch: 1},
		{Model: cnnModel, File: cnn, Threads: 2, Batch: 16},
	} {
		o.Engine, o.Python = onnxRuntime, python
		all(t, serving(t, o), set)
	}
}

// all holds the classes of a set against what is known, and returns the number of correct ones.
func all(t *testing.T, address string, set []images.Image) int {
	t.Helper()
	_, d := greet(t, address, images.Raw)
	known := cifar.Expected(d.SHA256)
	if known == nil {
		t.Fatalf("the answers of model %s, %s, are not known", d.Model, d.SHA256)
	}
	return matches(t, classes(t, address, images.Raw, set), set, known)
}

// The model cnn classifies 8,014 of 10,000 images correctly, and 824 of the first 1,000.
func TestRealWholeSet(t *testing.T) {
	python, cnn := fetched(t)
	effort.Deep(t, "classify all 10,000 images")
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	set, err := cifar.Load(cifar.Folder(cache), cifar.Count)
	if errors.Is(err, cifar.ErrMissing) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	address := serving(t, order{Engine: onnxRuntime, Python: python, Model: cnnModel, File: cnn, Threads: 2, Batch: 8})
	if n := all(t, address, set[:1000]); n != 824 {
		t.Errorf("%d of the first 1,000 images are correct", n)
	}
	if n := all(t, address, set); n != 8014 {
		t.Errorf("%d of 10,000 images are correct", n)
	}
}

// The model that comes with plimsoll is the one whose answers are known.
func TestSmallModel(t *testing.T) {
	sum := sha256.Sum256(small)
	if cifar.Expected(hex.EncodeToString(sum[:])) == nil {
		t.Errorf("the answers of small.onnx, %x, are not known", sum)
	}
}
