package collect

import (
	"context"
	"path"

	"plimsoll/internal/platform"
)

// Filesystem reports the space of the scratch folder's file system.
func Filesystem() Source {
	return Source{
		Name: "filesystem",
		Doc:  "space in the file system of the scratch folder, from statfs(2)",
		Counters: []Counter{
			gauge("filesystem.size", "B", "size of the file system"),
			gauge("filesystem.free", "B", "space free for unprivileged users"),
		},
		Open: observe("the room in its file systems", func(ctx context.Context, o platform.Observer, p Env) (map[string]float64, error) {
			s, err := o.Space(ctx, path.Clean(p.Dir))
			return map[string]float64{"filesystem.size": float64(s.Size), "filesystem.free": float64(s.Free)}, err
		}),
	}
}
