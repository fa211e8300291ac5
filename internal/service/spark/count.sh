# Tells the CPU time of the processes of a cluster, and the last counters of each executor that ran.   count.sh FOLDER
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
