# Tells where PySpark and Java are, one thing in a line.   find.sh HOME JAVA RELEASE
# An empty HOME is the folder that ./setup fills, an empty JAVA any that is installed.
home=${1:-${XDG_CACHE_HOME:-$HOME/.cache}/plimsoll/spark-$3}
echo "home=$home"
for spark in "$home"/lib/python3*/site-packages/pyspark; do
	for jar in "$spark"/jars/spark-core_*.jar; do
		[ -e "$jar" ] || continue
		echo "spark=$spark"
		version=${jar##*-}
		echo "version=${version%.jar}"
	done
	[ ! -d "${spark%/pyspark}/numpy" ] || echo numpy=yes
done
[ ! -x "$home/bin/python" ] || echo "python=$home/bin/python"
if [ -n "$2" ]; then
	set -- "$2"
else
	set -- /usr/lib/jvm/java-17-openjdk-*/bin/java /usr/lib/jvm/jre-17/bin/java "${JAVA_HOME:-/nonexistent}/bin/java" /usr/lib/jvm/java-11-openjdk-*/bin/java "$(command -v java)"
fi
for java in "$@"; do
	[ -n "$java" ] && [ -x "$java" ] || continue
	# Without the folder of its performance counters in /tmp.
	version=$("$java" -XX:+PerfDisableSharedMem -version 2>&1 | sed -n 's/.*version "\([^"]*\)".*/\1/p')
	echo "java=$version $java"
done
