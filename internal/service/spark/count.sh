# Tells the CPU time of the processes of a cluster, and the last counters of each executor that ran.   count.sh FOLDER
# The CPU time of an executor that has ended is that of its worker once this has seen the end.
n=0
while [ "$n" -lt 20 ] && grep -qs '(java) Z' /proc/[0-9]*/stat; do
	sleep 0.25
	n=$((n + 1))
done
ls -l /proc/[0-9]*/cwd 2>/dev/null | while read -r line; do
	case $line in *" -> $1"/* | *" -> $1") ;; *) continue ;; esac
	pid=${line%% -> *} pid=${pid%/cwd} pid=${pid##*/}
	kind=other
	case $(tr '\0' ' ' <"/proc/$pid/cmdline" 2>/dev/null) in
	*CoarseGrainedExecutorBackend*) kind=executor ;;
	*deploy.worker.Worker*) kind=worker ;;
	esac
	read -r stat <"/proc/$pid/stat" 2>/dev/null && echo "process $kind $stat"
done
cd "$1/counters" 2>/dev/null || exit 0
for name in jvmGCTime shuffleBytesWritten shuffleTotalBytesRead diskBytesSpilled memoryBytesSpilled; do
	for file in *.executor."$name".csv; do
		[ ! -e "$file" ] || echo "counter $name $(tail -n 1 "$file")"
	done
done
