package collect

import (
	"context"
	"errors"
	"fmt"
	"path"

	"plimsoll/internal/platform"
)

// Filesystem tells the room in the file system of the scratch folder.
func Filesystem() Source {
	return Source{
		Name: "filesystem",
		Doc:  "space in the file system of the scratch folder, from statfs(2)",
		Counters: []Counter{
			gauge("filesystem.size", "B", "size of the file system"),
			gauge("filesystem.free", "B", "space free for unprivileged users"),
		},
		Open: func(ctx context.Context, p Place) (Read, error) {
			o, ok := p.Machine.(platform.Observer)
			if !ok {
				return nil, fmt.Errorf("%s does not tell the room in its file systems: %w", p.Machine.Name(), errors.ErrUnsupported)
			}
			dir := path.Clean(p.Dir)
			take := func(ctx context.Context) (map[string]float64, error) {
				s, err := o.Space(ctx, dir)
				if err != nil {
					return nil, err
				}
				return map[string]float64{"filesystem.size": float64(s.Size), "filesystem.free": float64(s.Free)}, nil
			}
			_, err := take(ctx)
			return take, err
		},
	}
}
