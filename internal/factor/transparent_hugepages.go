package factor

import "context"

// TransparentHugePages is when the kernel backs memory with huge pages unasked.
// It holds for memory that is mapped from then on.
func TransparentHugePages() Factor {
	const name = "/sys/kernel/mm/transparent_hugepage/enabled"
	return file{
		words: called("transparent huge pages"), choice: true,
		path: func(context.Context, Place) (string, error) { return name, nil },
	}.factor(Factor{
		Root:    true,
		Name:    "host.transparent_hugepages",
		Doc:     "transparent huge pages",
		Example: []string{"madvise", "always"},
		// khugepaged keeps more memory free while it runs, and computes anew what is kept when it stops (mm/khugepaged.c).
		Effect: func(context.Context, Place) (Effect, error) {
			return Effect{Sets: []string{name}, Coupled: []string{"/proc/sys/vm/min_free_kbytes"}}, nil
		},
	})
}
