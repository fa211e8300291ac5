package factor

import "context"

const hugepagesWords = "transparent huge pages"

// TransparentHugePages is when the kernel backs memory with huge pages unasked.
// It holds for memory that is mapped from then on.
func TransparentHugePages() Factor {
	const file = "/sys/kernel/mm/transparent_hugepage/enabled"
	return Factor{
		Root:    true,
		Name:    "host.transparent_hugepages",
		Doc:     "transparent huge pages",
		Example: []string{"madvise", "always"},
		Offers: func(ctx context.Context, p Place) ([]string, error) {
			_, offered, err := chosen(ctx, p.Machine, file, hugepagesWords)
			return offered, err
		},
		Get: func(ctx context.Context, p Place) (string, error) {
			now, _, err := chosen(ctx, p.Machine, file, hugepagesWords)
			return now, err
		},
		Set: func(ctx context.Context, p Place, level string) error {
			return write(ctx, p.Machine, file, hugepagesWords, level)
		},
		// khugepaged keeps more memory free while it runs, and computes anew what is kept when it stops (mm/khugepaged.c).
		Effect: func(context.Context, Place) (Effect, error) {
			return Effect{Sets: []string{file}, Coupled: []string{"/proc/sys/vm/min_free_kbytes"}}, nil
		},
	}
}
