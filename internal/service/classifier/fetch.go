package classifier

import (
	"archive/zip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"

	"plimsoll/internal/images"
)

// packages are those of the virtual environment: what computes, and what the conversion needs.
var packages = []string{
	"onnxruntime==" + Release, "numpy==2.4.6",
	"onnx==1.23.2", "protobuf==7.36.2", "ml_dtypes==0.6.0", "typing_extensions==4.16.0", "h5py==3.16.0",
}

// The package of PyPI that carries the model cnn, in Keras' format.
const (
	cnnPackage = "cifar-10-model 7.4.0"
	cnnWheel   = "cifar-10-model==7.4.0 --hash=sha256:bf1d74404875d39bb874df97d7b924b98af81e85c4bccb6091ef3a115dd9920a\n"
	cnnKeras   = "cnn_model.h5"
	cnnFile    = "cnn.onnx"
)

// Fetch makes pip install ONNX Runtime into a virtual environment in a folder and download the
// model cnn, which it converts to ONNX. Nothing is done where both are there.
func Fetch(ctx context.Context, folder string) error {
	if complete(folder) {
		return nil
	}
	python, err := exec.LookPath("python3")
	if err != nil {
		return errors.New("fetch ONNX Runtime: python3 is not installed: apt install python3 python3-venv (or dnf install python3)")
	}
	if err := os.MkdirAll(filepath.Dir(folder), 0o755); err != nil {
		return fmt.Errorf("create the folder of ONNX Runtime: %w", err)
	}
	dir, err := os.MkdirTemp(filepath.Dir(folder), ".classifier-*")
	if err != nil {
		return fmt.Errorf("create the folder of ONNX Runtime: %w", err)
	}
	defer os.RemoveAll(dir) //nolint:errcheck // the environment was moved before
	environment := filepath.Join(dir, "environment")
	if err := run(exec.CommandContext(ctx, python, "-m", "venv", environment)); err != nil {
		return blame(ctx, fmt.Errorf("create a virtual environment of Python (apt install python3-venv): %w", err))
	}
	install := append([]string{"-m", "pip", "install", "-q", "--no-deps", "--only-binary", ":all:"}, packages...)
	if err := run(exec.CommandContext(ctx, interpreter(environment), install...)); err != nil {
		return blame(ctx, fmt.Errorf("install ONNX Runtime with pip: %w", err))
	}
	if err := fetchModel(ctx, dir, environment); err != nil {
		return blame(ctx, err)
	}
	if err := os.RemoveAll(folder); err != nil {
		return fmt.Errorf("replace ONNX Runtime: %w", err)
	}
	if err := os.Rename(environment, folder); err != nil {
		return fmt.Errorf("store ONNX Runtime: %w", err)
	}
	return nil
}

// complete reports whether a folder has a Python and the model.
func complete(folder string) bool {
	data, err := os.ReadFile(filepath.Join(folder, cnnFile))
	if err != nil {
		return false
	}
	if _, err := os.Stat(interpreter(folder)); err != nil {
		return false
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:]) == cnnSum
}

func interpreter(environment string) string { return filepath.Join(environment, "bin", "python") }

func blame(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// fetchModel downloads the model cnn, and converts it into an environment.
func fetchModel(ctx context.Context, dir, environment string) error {
	list, wheels := filepath.Join(dir, "wheel"), filepath.Join(dir, "wheels")
	if err := os.WriteFile(list, []byte(cnnWheel), 0o644); err != nil {
		return fmt.Errorf("name the package of model cnn: %w", err)
	}
	if err := run(exec.CommandContext(ctx, interpreter(environment), "-m", "pip", "download", "-q", "--no-deps", "--require-hashes", "-d", wheels, "-r", list)); err != nil {
		return fmt.Errorf("download model cnn (package %s of PyPI) with pip: %w", cnnPackage, err)
	}
	found, err := filepath.Glob(filepath.Join(wheels, "*.whl"))
	if err != nil || len(found) != 1 {
		return fmt.Errorf("download model cnn: %d wheels", len(found))
	}
	keras := filepath.Join(dir, cnnKeras)
	if err := extract(found[0], cnnKeras, keras); err != nil {
		return fmt.Errorf("unpack model cnn: %w", err)
	}
	file := filepath.Join(environment, cnnFile)
	if err := Convert(ctx, environment, Conversion{Input: images.Pixels, Keras: keras, ONNX: file}); err != nil {
		return err
	}
	if !complete(environment) {
		return fmt.Errorf("model cnn was converted to another file than expected: these versions of onnx and h5py do not fit this release of plimsoll")
	}
	return nil
}

// extract writes the file of a wheel with a name, whatever its folder.
func extract(wheel, name, to string) error {
	z, err := zip.OpenReader(wheel)
	if err != nil {
		return err
	}
	defer z.Close() //nolint:errcheck // it was only read
	for _, f := range z.File {
		if path.Base(f.Name) != name {
			continue
		}
		from, err := f.Open()
		if err != nil {
			return err
		}
		data, err := io.ReadAll(io.LimitReader(from, mostModel))
		if err != nil {
			return err
		}
		return os.WriteFile(to, data, 0o644)
	}
	return fmt.Errorf("it lacks %s", name)
}

// Conversion makes an ONNX file of a Keras model.
type Conversion struct {
	Input images.Input // what the model computes with
	Keras string       // path of the file in HDF5
	ONNX  string       // path of the file to write
}

// Setting is how a study names a model's file.
func Setting(file string) (string, error) {
	full, err := filepath.Abs(file)
	if err != nil {
		return "", fmt.Errorf("name model %s: %w", file, err)
	}
	data, err := os.ReadFile(full)
	if err != nil {
		return "", fmt.Errorf("name model %s: %w", file, err)
	}
	sum := sha256.Sum256(data)
	return full + "@" + hex.EncodeToString(sum[:])[:leastDigits], nil
}

// Convert converts a model with a fetched environment.
func Convert(ctx context.Context, folder string, c Conversion) error {
	if !c.Input.Known() {
		return fmt.Errorf("unknown input %q: must be %s, %s or %s", c.Input, images.Pixels, images.Unit, images.Centred)
	}
	if _, err := os.Stat(interpreter(folder)); err != nil {
		return fmt.Errorf("convert a model: ONNX Runtime is not in %s: fetch it with plimsoll service classifier fetch", folder)
	}
	if err := run(exec.CommandContext(ctx, interpreter(folder), "-I", "-c", convertScript, string(c.Input), c.Keras, c.ONNX)); err != nil {
		return fmt.Errorf("convert model %s to ONNX: %w", c.Keras, err)
	}
	return nil
}
