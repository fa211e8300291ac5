/* The smallest client that C can be: blocking calls on one connection, to PORT for SECONDS. It prints transactions per second and CPU seconds for each. */
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static double now(void) {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

int main(int argc, char **argv) {
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(atoi(argv[1]))};
	int on = 1, fd = socket(AF_INET, SOCK_STREAM, 0);
	char byte = 0;
	long count = 0;
	double begin, end = atof(argv[2]);
	struct rusage u;
	inet_pton(AF_INET, "127.0.0.1", &to.sin_addr);
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
	if (connect(fd, (struct sockaddr *)&to, sizeof to)) return 1;
	for (begin = now(), end += begin; now() < end; count++)
		if (write(fd, &byte, 1) != 1 || read(fd, &byte, 1) != 1) return 2;
	getrusage(RUSAGE_SELF, &u);
	printf("%g %g\n", count / (now() - begin),
	       (u.ru_utime.tv_sec + u.ru_stime.tv_sec + (u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6) / count);
	return 0;
}
