package initramfs

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"plimsoll/internal/guest/kernel"
	"plimsoll/internal/guest/unpack"
)

// mostModule is the maximum size of an uncompressed module, in bytes.
const mostModule = 64 << 20

// module is a module to load, uncompressed.
type module struct {
	name    string
	content []byte
}

// resolver finds modules of one kernel and their dependencies, each once.
type resolver struct {
	k       *kernel.Kernel
	builtin map[string]bool
	files   map[string]string // name to file
	ready   map[string]bool
	order   []module
}

// resolve returns the wanted modules and their dependencies, in load order.
func resolve(k *kernel.Kernel, wanted []string) ([]module, error) {
	if k == nil || k.Modules == "" {
		return nil, nil // the caller declares everything built in
	}
	builtin, err := k.Builtin()
	if err != nil {
		return nil, err
	}
	files, err := modulesBelow(k.Modules)
	if err != nil {
		return nil, fmt.Errorf("modules of kernel %s: %w", k.Version, err)
	}
	r := &resolver{k: k, builtin: builtin, files: files, ready: map[string]bool{}}
	for _, name := range wanted {
		set, known := features[name]
		if !known {
			set = []string{name}
		}
		for _, one := range set {
			if err := r.add(plainName(one), one, nil); err != nil {
				if known {
					return nil, fmt.Errorf("modules for %q: %w", name, err)
				}
				return nil, err
			}
		}
	}
	return r.order, nil
}

// add appends a module after its dependencies. path is the chain of dependencies.
func (r *resolver) add(name, asked string, path []string) error {
	if name == "" {
		return fmt.Errorf("%q is not a module name", asked)
	}
	if r.ready[name] || r.builtin[name] || slices.Contains(path, name) {
		return nil
	}
	file, found := r.files[name]
	if !found {
		return r.missing(name, path)
	}
	content, info, err := read(file)
	if err != nil {
		return fmt.Errorf("module %s of kernel %s: %w", name, r.k.Version, err)
	}
	if info.release != "" && info.release != r.k.Version {
		return fmt.Errorf("module %s is for kernel %s but the guest's is %s: use modules of the same package", name, info.release, r.k.Version)
	}
	path = append(path, name)
	for _, d := range info.depends {
		if err := r.add(d, d, path); err != nil {
			return err
		}
	}
	for _, d := range slices.Concat(info.before, undeclared[name]) {
		if err := r.addIfThere(d, path); err != nil {
			return err
		}
	}
	r.ready[name] = true
	r.order = append(r.order, module{name, content})
	return nil
}

// addIfThere adds a soft dependency. Its name may be that of an algorithm or its alias crypto-NAME, whose generic
// implementation is the module NAME_generic.
func (r *resolver) addIfThere(name string, path []string) error {
	algorithm := strings.TrimPrefix(name, "crypto_")
	for _, n := range []string{name, algorithm, algorithm + "_generic"} {
		if r.builtin[n] {
			return nil
		}
		if _, found := r.files[n]; found {
			return r.add(n, n, path)
		}
	}
	return nil
}

// missing is the error of a module that the kernel's package lacks.
func (r *resolver) missing(name string, path []string) error {
	why := ""
	if len(path) > 0 {
		why = ", which " + path[len(path)-1] + " needs"
	}
	from := "its own package"
	if r.k.Package != "" {
		from = "package " + r.k.Package
	}
	return fmt.Errorf("kernel %s has no module %s%s: %s has it neither built in nor as module; %s", r.k.Version, name, why, from, whoHas(r.k.Version))
}

// whoHas names the distribution's package with the modules that its kernel for VMs omits.
func whoHas(release string) string {
	switch {
	case strings.Contains(release, "-cloud-"):
		full := strings.Replace(release, "-cloud-", "-", 1)
		return "Debian's full kernel may: plimsoll guest kernel --package linux-image-" + full
	case strings.HasSuffix(release, "-generic"):
		return "Ubuntu keeps more in linux-modules-extra-" + release
	}
	return "a kernel with it is taken with --kernel and --modules"
}

// modulesBelow maps module names to files.
func modulesBelow(dir string) (map[string]string, error) {
	files := map[string]string{}
	err := filepath.WalkDir(filepath.Join(dir, "kernel"), func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		if strings.Contains(d.Name(), ".ko") {
			files[kernel.ModuleName(file)] = file
		}
		return nil
	})
	return files, err
}

func read(file string) ([]byte, modinfo, error) {
	packed, err := os.ReadFile(file)
	if err != nil {
		return nil, modinfo{}, err
	}
	content, err := unpack.All(packed, mostModule)
	if err != nil {
		return nil, modinfo{}, err
	}
	info, err := readModinfo(content)
	return content, info, err
}
