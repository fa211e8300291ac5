package program

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// mapped is anonymous memory, for which the kernel may use huge pages.
func mapped(bytes int) ([]byte, error) {
	memory, err := syscall.Mmap(-1, 0, bytes, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_PRIVATE|syscall.MAP_ANONYMOUS)
	if err == nil {
		err = unix.Madvise(memory, unix.MADV_HUGEPAGE)
	}
	return memory, err
}

// journal appends records and forces each to the disk, with a file for each thread.
func journal(ctx context.Context, o options) error {
	var t tally
	for i := range o.threads {
		f, err := os.OpenFile(fmt.Sprint(o.file, ".", i), os.O_CREATE|os.O_WRONLY, 0o644)
		if err != nil {
			return err
		}
		defer f.Close()
		go func() {
			record := make([]byte, int(max(o.size*(1<<20), 256)))
			for at := int64(0); ctx.Err() == nil; at = (at + int64(len(record))) % (16 << 20) {
				began := time.Now()
				_, err := f.WriteAt(record, at)
				if err == nil && !o.short { // short: without forcing it
					err = syscall.Fdatasync(int(f.Fd()))
				}
				t.done(began, err)
				time.Sleep(o.pause)
			}
		}()
	}
	return t.print(ctx, os.Stdout)
}

// writing writes blocks of 64 KiB into a file over and over, at a rate in bytes per second, without forcing it to the disk.
func writing(ctx context.Context, o options) error {
	const block = 64 << 10
	f, err := os.OpenFile(o.file, os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer f.Close()
	var t tally
	go func() {
		data, due := make([]byte, block), time.Now()
		for at := int64(0); ctx.Err() == nil; at = (at + block) % int64(o.size*(1<<20)) {
			began := time.Now()
			_, err := f.WriteAt(data, at)
			t.done(began, err)
			if o.rate > 0 {
				due = due.Add(time.Duration(block / o.rate * float64(time.Second)))
				time.Sleep(time.Until(due))
			}
		}
	}()
	return t.print(ctx, os.Stdout)
}

// reading reads a file or device from beginning to end, over and over, without what the page cache has of it.
func reading(ctx context.Context, o options) error {
	f, err := os.Open(o.file)
	if err != nil {
		return err
	}
	defer f.Close()
	var t tally
	go func() {
		block := make([]byte, 64<<10)
		for ctx.Err() == nil {
			n, err := f.Read(block)
			t.add(float64(n))
			if errors.Is(err, io.EOF) {
				err = forget(f)
			}
			if err != nil {
				t.done(time.Now(), err)
				return
			}
		}
	}()
	return t.print(ctx, os.Stdout)
}

// forget drops a file's pages from the page cache and starts at its beginning.
func forget(f *os.File) error {
	if err := unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED); err != nil {
		return err
	}
	_, err := f.Seek(0, io.SeekStart)
	return err
}

// pages reads pages of a file, or changes pages of memory where no file is given, at random.
func pages(ctx context.Context, o options) error {
	const page = 4096
	bytes := int(o.size * (1 << 20))
	memory, err := syscall.Mmap(-1, 0, bytes, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_PRIVATE|syscall.MAP_ANONYMOUS)
	if err != nil {
		return fmt.Errorf("map memory: %w", err)
	}
	get := func(at int) error { memory[at]++; return nil }
	if o.file != "" {
		f, err := os.Open(o.file)
		if err != nil {
			return err
		}
		defer f.Close()
		if _, err := io.Copy(io.Discard, f); err != nil { // into the page cache, as far as it has room
			return err
		}
		get = func(at int) error { _, err := f.ReadAt(memory[:page], int64(at)); return err }
	} else {
		for i := range bytes / page {
			memory[i*page] = byte(rand.Uint32()) | 1
		}
	}
	var t tally
	for i := range o.threads {
		random := rand.New(rand.NewPCG(uint64(i), 2))
		go func() {
			for ctx.Err() == nil {
				began := time.Now()
				var err error
				for range 16 {
					err = errors.Join(err, get(random.IntN(bytes/page)*page))
				}
				t.done(began, err)
				time.Sleep(o.pause)
			}
		}()
	}
	return t.print(ctx, os.Stdout)
}
