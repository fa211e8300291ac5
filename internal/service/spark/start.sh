# Starts a standalone master and its workers, and stays until one of them ends or it is asked to stop. What they hold is
# discarded then, so that they need not be asked.   start.sh JAVA FOLDER HOST PORT WEBPORT WORKERS CORES MEMORY(MiB)
java=$1 dir=$2 host=$3 port=$4 web=$5 workers=$6 cores=$7 memory=$8
cd "$dir" || exit 1
export SPARK_HOME="$dir/home" SPARK_SCALA_VERSION=2.12 SPARK_CONF_DIR="$dir/conf" SPARK_LOCAL_IP="$host" JAVA_HOME="${java%/bin/java}"
mkdir -p "$dir/counters" "$dir/tmp"
pids=
# inside lists the processes that work in the folder, executors too, which outlive their worker for a while.
inside() {
	ls -l /proc/[0-9]*/cwd 2>/dev/null | while read -r line; do
		case $line in *" -> $dir"/* | *" -> $dir") ;; *) continue ;; esac
		pid=${line%% -> *} pid=${pid%/cwd} pid=${pid##*/}
		grep -q java "/proc/$pid/comm" 2>/dev/null && echo "$pid"
	done
}
end() {
	trap - INT TERM
	kill -KILL $pids 2>/dev/null
	wait $pids 2>/dev/null
	left=$(inside)
	while [ -n "$left" ]; do
		kill -KILL $left 2>/dev/null
		left=$(inside)
	done
	exit "$1"
}
trap 'end 0' INT TERM
# died NAME STATUS LOG says what there is to say of a process that ended. On a full disk it said nothing.
died() {
	grep -h -E 'ERROR|Exception|Error:|OutOfMemory|No space left' "$3" 2>/dev/null | cut -c 1-300 | tail -n 5 >&2
	cat "$3" 2>/dev/null >"$dir/room" || echo "No space left on device: the disk of $dir is full" >&2
	how="status $2"
	[ "$2" -lt 128 ] || how="signal $(($2 - 128))"
	echo "plimsoll: $1 ended with $how" >&2
	end 1
}
# run LOG ARGUMENT... starts a daemon.
run() {
	log=$1
	shift
	"$java" -Xmx256m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -XX:+PerfDisableSharedMem -Djava.io.tmpdir="$dir/tmp" -Dspark.port.maxRetries=0 \
		-cp "$dir/conf:$dir/home/jars/*" "$@" >"$log" 2>&1 &
	pids="$pids $!"
}
run "$dir/master.log" org.apache.spark.deploy.master.Master --host "$host" --port "$port" --webui-port "$web"
n=1
while [ "$n" -le "$workers" ]; do
	mkdir -p "$dir/worker-$n/local"
	export SPARK_LOCAL_DIRS="$dir/worker-$n/local"
	run "$dir/worker-$n.log" org.apache.spark.deploy.worker.Worker --host "$host" --webui-port 0 --cores "$cores" --memory "${memory}m" \
		--work-dir "$dir/worker-$n" "spark://$host:$port"
	n=$((n + 1))
done
while :; do
	n=0
	for pid in $pids; do
		if ! kill -0 "$pid" 2>/dev/null; then
			wait "$pid"
			status=$?
			[ "$n" -gt 0 ] || died "the master" "$status" "$dir/master.log"
			died "worker $n of $workers" "$status" "$dir/worker-$n.log"
		fi
		n=$((n + 1))
	done
	sleep 1 &
	wait $!
done
