package factor

import "context"

// TransparentHugePages is the mode of transparent huge pages. It applies to memory mapped from
// then on.
func TransparentHugePages() Factor {
	const name = "/sys/kernel/mm/transparent_hugepage/enabled"
	return file{
		words: called("transparent huge pages"), choice: true,
		path: func(context.Context, Env) (string, error) { return name, nil },
	}.factor(Factor{
		Root:    true,
		Name:    "host.transparent_hugepages",
		Doc:     "transparent huge pages",
		Example: []string{"madvise", "always"},
		Holds: []Hold{
			{Counter: "memory.huge_pages", Pinned: "never"},
			{Counter: "paging.huge_pages", Pinned: "never"},
			{Counter: "paging.huge_pages.failed", Pinned: "never"},
		},
		// khugepaged raises min_free_kbytes while it runs, and recomputes it when it stops
		// (mm/khugepaged.c).
		Effect: func(context.Context, Env) (Effect, error) {
			return Effect{Sets: []string{name}, Coupled: []string{"/proc/sys/vm/min_free_kbytes"}}, nil
		},
	})
}
