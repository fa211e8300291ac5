/* A client as small as C can be, for one thread: requests over epoll in a closed loop, or on a schedule with a tick and the kernel's times of arrival.
 * It takes responses of the length of the first one, and prints the number of operations and the CPU seconds for each. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { most = 1024, second = 1000000000 };

static struct sockaddr_in server = {.sin_family = AF_INET};
static int stamps, sockets[most], got[most], busy[most], connections, length, size;
static int64_t sent[most];
static long operations, counts[1 << 20];
static char in[1 << 18], *request;

static void die(const char *what) {
	perror(what);
	exit(1);
}

static int64_t now(clockid_t clock) {
	struct timespec t;
	clock_gettime(clock, &t);
	return t.tv_sec * (int64_t)second + t.tv_nsec;
}

static void dial(int i) {
	int on = 1, s = socket(AF_INET, SOCK_STREAM, 0);
	if (s < 0 || connect(s, (struct sockaddr *)&server, sizeof server)) die("connect");
	setsockopt(s, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
	if (stamps) setsockopt(s, SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof on);
	sockets[i] = s;
}

static void ask(int i, clockid_t clock) {
	sent[i] = now(clock);
	busy[i] = 1;
	if (write(sockets[i], request, size) != size) die("write");
}

static void answered(int i, int n, int64_t at) {
	int64_t us = (at - sent[i]) / 1000;
	if (n < 0) die("read");
	if (n == 0) { /* the last response of a connection says so, and has another length */
		close(sockets[i]);
		dial(i);
	} else if ((got[i] += n) < length)
		return;
	got[i] = busy[i] = 0;
	counts[us < 0 ? 0 : us < 1 << 20 ? us : (1 << 20) - 1]++;
	operations++;
}

static void watch(int e, int i) {
	struct epoll_event one = {.events = EPOLLIN, .data.u32 = i};
	if (epoll_ctl(e, EPOLL_CTL_ADD, sockets[i], &one)) die("epoll_ctl");
}

static void closed(int64_t end) {
	struct epoll_event events[most];
	int e = epoll_create1(0);
	for (int i = 0; i < connections; i++) {
		watch(e, i);
		ask(i, CLOCK_MONOTONIC);
	}
	while (now(CLOCK_MONOTONIC) < end) {
		int k = epoll_wait(e, events, most, 100);
		for (int j = 0; j < k; j++) {
			int i = events[j].data.u32, n = recv(sockets[i], in, sizeof in, MSG_DONTWAIT);
			answered(i, n, now(CLOCK_MONOTONIC));
			if (n == 0) watch(e, i);
			if (!busy[i]) ask(i, CLOCK_MONOTONIC);
		}
	}
}

static void take(int i) {
	char control[64];
	struct iovec part = {in, sizeof in};
	struct msghdr m = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
	int n = recvmsg(sockets[i], &m, MSG_DONTWAIT);
	struct cmsghdr *c = CMSG_FIRSTHDR(&m);
	struct timespec at = {0};
	if (n < 0 && errno == EAGAIN) return;
	if (n > 0 && c && c->cmsg_type == SCM_TIMESTAMPNS) memcpy(&at, CMSG_DATA(c), sizeof at);
	answered(i, n, at.tv_sec * (int64_t)second + at.tv_nsec);
}

static void scheduled(int64_t end, double rate, int64_t tick) {
	int64_t wake = now(CLOCK_MONOTONIC), due = wake;
	for (int next = 0; wake < end; wake += tick) {
		struct timespec t = {wake / second, wake % second};
		while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR);
		for (int i = 0; i < connections; i++)
			if (busy[i]) take(i);
		for (int k = 0; k < connections && due <= wake; k++) {
			int i = next++ % connections;
			if (busy[i]) continue;
			ask(i, CLOCK_REALTIME);
			due += second / rate;
		}
	}
}

int main(int argc, char **argv) {
	struct rusage u;
	if (argc != 5 && argc != 7) {
		fprintf(stderr, "usage: requests PORT CONNECTIONS SECONDS REQUEST [RATE TICK_US]\n");
		return 2;
	}
	server.sin_port = htons(atoi(argv[1]));
	inet_pton(AF_INET, "127.0.0.1", &server.sin_addr);
	connections = atoi(argv[2]);
	request = argv[4];
	size = strlen(request);
	stamps = argc == 7;
	if (connections < 1 || connections > most) return 2;
	for (int i = 0; i < connections; i++) dial(i);
	ask(0, CLOCK_MONOTONIC);
	for (struct pollfd p = {sockets[0], POLLIN, 0}; poll(&p, 1, length ? 200 : 2000) > 0;) {
		int n = read(sockets[0], in, sizeof in);
		if (n <= 0) die("read");
		length += n;
	}
	busy[0] = 0;
	int64_t end = now(CLOCK_MONOTONIC) + atof(argv[3]) * second;
	if (stamps) scheduled(end, atof(argv[5]), atoll(argv[6]) * 1000);
	else closed(end);
	getrusage(RUSAGE_SELF, &u);
	printf("%ld %g\n", operations, (u.ru_utime.tv_sec + u.ru_stime.tv_sec + (u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6) / operations);
	return 0;
}
