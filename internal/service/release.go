package service

import (
	"context"
	"crypto/rand"
	"fmt"
	"iter"
	"path"
	"strconv"
	"strings"

	"plimsoll/internal/charset"
	"plimsoll/internal/load"
	"plimsoll/internal/platform"
)

// memoryFile is the file in an instance's folder with the name of its folder in memory.
const memoryFile = "memory-folder"

// inMemory reports whether MemoryFolder created the name. Nothing else is removed.
func inMemory(folder string) bool {
	random, ok := strings.CutPrefix(folder, "/dev/shm/plimsoll-")
	return ok && len(random) == len(rand.Text()) && charset.Only(random, charset.Base32)
}

// MemoryFolder is an unpredictable name of a folder in memory, for data shared by a server's
// processes. Note is a file for Daemon.Files: with it in the instance's folder, both folders
// are removed together, however the server ended.
func MemoryFolder() (folder string, note iter.Seq2[string, []byte]) {
	folder = "/dev/shm/plimsoll-" + rand.Text()
	return folder, Files(memoryFile, []byte(folder))
}

// Releaser removes remains of a killed instance outside its folder, which files in the folder
// name.
type Releaser func(ctx context.Context, m platform.Machine, folder string) error

// Release removes remains of instances outside their folders: a folder and its subfolders of
// several servers, their folders in memory, and what own finds; nil finds nothing.
func Release(ctx context.Context, m platform.Machine, dir string, own Releaser) error {
	folders := []string{dir}
	for i := 0; ; i++ {
		one := path.Join(dir, strconv.Itoa(i))
		if _, err := m.ReadFile(ctx, path.Join(one, markFile)); err != nil {
			break
		}
		folders = append(folders, one)
	}
	for _, folder := range folders {
		if named, err := m.ReadFile(ctx, path.Join(folder, memoryFile)); err == nil && inMemory(string(named)) {
			if _, err := output(ctx, m, "rm", "-rf", "--", string(named)); err != nil {
				return fmt.Errorf("remove shared memory of a server: %w", err)
			}
		}
		if own == nil {
			continue
		}
		if err := own(ctx, m, folder); err != nil {
			return err
		}
	}
	return nil
}

// releasing is a service with its own releaser.
type releasing struct {
	Service
	release Releaser
}

// Start starts the service.
func (r releasing) Start(ctx context.Context, env Env) (Instance, error) {
	env.release = r.release
	return r.Service.Start(ctx, env)
}

// Varies implements Varying.
func (r releasing) Varies() bool {
	of, ok := r.Service.(Varying)
	return ok && of.Varies()
}

// Endpoints implements External.
func (r releasing) Endpoints() map[string]load.Endpoint {
	if of, ok := r.Service.(External); ok {
		return of.Endpoints()
	}
	return nil
}
