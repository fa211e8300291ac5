package machinecmd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"plimsoll/cmd/plimsoll/cli"

	"github.com/spf13/cobra"

	"plimsoll/internal/guest/disk"
	"plimsoll/internal/guest/initramfs"
	"plimsoll/internal/guest/kernel"
)

// imageFormats are what an image can be written as.
var imageFormats = []string{"initramfs", "raw", "qcow2", "ova"}

// imageRequest is what was asked of an image.
type imageRequest struct {
	format, out, agent, command string
	with, files                 []string
	asJSON                      bool
	kernel                      kernelChoice
}

// madeImage is what is told of an image.
type madeImage struct {
	File    string          `json:"file"`
	Format  string          `json:"format"`
	Size    int64           `json:"size"` // bytes
	Parts   initramfs.Sizes `json:"initramfs"`
	Modules []string        `json:"modules"`
	Kernel  *kernel.Kernel  `json:"kernel"`
}

func (c *commands) guestImage() *cobra.Command {
	var r imageRequest
	cmd := &cobra.Command{
		Use:   "image",
		Short: "build a boot image for virtual machines",
		Long: `Build a boot image for virtual machines: an initramfs with plimsoll's agent as its
only program, or a disk image with this initramfs and a kernel, for other hypervisors.
Disk images require UEFI firmware with Secure Boot off. The same kernel, agent and
files give the same bytes.

Module sets: ` + strings.Join(initramfs.Features(), ", ") + `.`,
		Example: "  plimsoll guest image --format initramfs --out guest.cpio\n" +
			"  plimsoll guest image --format qcow2 --with channel,disks,network,netem --out guest.qcow2\n" +
			"  plimsoll guest image --format raw --file /usr/bin/fio=./fio-static --out guest.raw",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return c.makeImage(cmd.Context(), &r) },
	}
	f := cmd.Flags()
	f.StringVar(&r.format, "format", "initramfs", "image format: "+strings.Join(imageFormats, ", "))
	f.StringVar(&r.out, "out", "", "output `file`; must not exist")
	f.StringVar(&r.agent, "agent", "", "`program` that becomes /init (default: plimsoll-agent beside plimsoll)")
	f.StringSliceVar(&r.with, "with", []string{"channel", "disks", "network"}, "module sets, or names of modules")
	f.StringArrayVar(&r.files, "file", nil, "file to add, as `GUEST=HERE`; may be repeated")
	f.StringVar(&r.command, "append", "console=tty0 console=ttyS0 panic=-1", "kernel command `line` of disk images")
	f.BoolVar(&r.asJSON, "json", false, "print JSON")
	r.kernel.flags(cmd)
	_ = cmd.RegisterFlagCompletionFunc("format", cobra.FixedCompletions(imageFormats, cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.RegisterFlagCompletionFunc("with", cobra.FixedCompletions(initramfs.Features(), cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func (c *commands) makeImage(ctx context.Context, r *imageRequest) error {
	files, err := r.check()
	if err != nil {
		return cli.Mistake(err)
	}
	k, err := c.kernel(ctx, &r.kernel)
	if err != nil {
		return err
	}
	archive, err := initramfs.New(initramfs.Spec{Init: r.agent, Kernel: k, Modules: r.with, Files: files})
	if err != nil {
		return cli.Mistake(err)
	}
	image, err := r.render(archive, k)
	if err != nil {
		return err
	}
	if err := cli.Create(r.out, "the image", func(w io.Writer) error { _, err := w.Write(image); return err }); err != nil {
		return err
	}
	made := madeImage{r.out, r.format, int64(len(image)), archive.Sizes(), archive.Modules(), k}
	if r.asJSON {
		return cli.PrintJSON(c.screen.Out, made)
	}
	fmt.Fprintf(c.screen.Out, "wrote %s: %s, %.1f MB\n", made.File, made.Format, float64(made.Size)/1e6)
	fmt.Fprintf(c.screen.Out, "  agent %.1f MB, %d modules %.1f MB, files %.1f MB; kernel %s\n",
		float64(made.Parts.Init)/1e6, len(made.Modules), float64(made.Parts.Modules)/1e6, float64(made.Parts.Files)/1e6, k.Version)
	return nil
}

// check completes a request and returns the files to add.
func (r *imageRequest) check() (map[string]string, error) {
	if !slices.Contains(imageFormats, r.format) {
		return nil, fmt.Errorf("unknown image format %q: --format is one of %s", r.format, strings.Join(imageFormats, ", "))
	}
	if r.out == "" {
		return nil, errors.New("--out is missing: the file to write")
	}
	if _, err := os.Lstat(r.out); err == nil {
		return nil, fmt.Errorf("%s already exists: remove it, or name another with --out", r.out)
	}
	if r.agent == "" {
		found, err := agentBeside()
		if err != nil {
			return nil, err
		}
		r.agent = found
	}
	files := map[string]string{}
	for _, f := range r.files {
		guest, here, found := strings.Cut(f, "=")
		if !found || guest == "" || here == "" {
			return nil, fmt.Errorf("--file %q: give the name in the guest and the file here, as /usr/bin/fio=./fio", f)
		}
		files[guest] = here
	}
	return files, nil
}

// agentBeside finds the agent where the build and packages put it.
func agentBeside() (string, error) {
	self, err := os.Executable()
	if err == nil {
		self, err = filepath.EvalSymlinks(self)
	}
	if err != nil {
		return "", fmt.Errorf("find plimsoll-agent: %w", err)
	}
	for _, place := range []string{"plimsoll-agent", "bin/plimsoll-agent"} {
		file := filepath.Join(filepath.Dir(self), place)
		if s, err := os.Stat(file); err == nil && s.Mode().IsRegular() {
			return file, nil
		}
	}
	return "", fmt.Errorf("no plimsoll-agent beside %s: build it with \"make build\", or specify one with --agent", self)
}

// render makes the bytes of an image.
func (r *imageRequest) render(archive *initramfs.Archive, k *kernel.Kernel) ([]byte, error) {
	var b bytes.Buffer
	if _, err := archive.WriteTo(&b); err != nil || r.format == "initramfs" {
		return b.Bytes(), err
	}
	if k.Packed == "" {
		return nil, cli.Mistake(errors.New("a disk image requires a bzImage, but --kernel is an uncompressed ELF kernel"))
	}
	packed, err := os.ReadFile(k.Packed)
	if err != nil {
		return nil, fmt.Errorf("read the kernel: %w", err)
	}
	raw, err := disk.Raw(disk.Spec{Kernel: packed, Initramfs: b.Bytes(), Command: r.command})
	if err != nil {
		return nil, cli.Mistake(err)
	}
	switch r.format {
	case "qcow2":
		return disk.QCOW2(raw), nil
	case "ova":
		return appliance(raw)
	}
	return raw, nil
}

// appliance is a disk as an OVA.
func appliance(raw []byte) (made []byte, err error) {
	folder, err := os.MkdirTemp("", "plimsoll-image-")
	if err != nil {
		return nil, fmt.Errorf("create an appliance: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	a, err := disk.Pack(folder, disk.Machine{
		Name: "plimsoll-guest", CPUs: 1, Memory: 512 << 20, Disks: []disk.Source{{ReaderAt: bytes.NewReader(raw), Size: int64(len(raw))}},
	})
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	err = a.Write(&out)
	return out.Bytes(), err
}
